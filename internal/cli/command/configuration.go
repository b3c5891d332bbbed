package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
)

// configuration holds the flags that name the configuration.
type configuration struct {
	path string
	mesh string
}

// addConfig adds the flags that name the configuration. Otherwise says what is used if there is none.
func addConfig(cmd *cobra.Command, c *configuration, otherwise string) {
	addConfigFile(cmd, c, otherwise)
	addMesh(cmd, &meshNames{names: &c.mesh}, "if empty, that of the configuration, or else the specification")
}

// addConfigFile adds the flag that names the file of the configuration.
func addConfigFile(cmd *cobra.Command, c *configuration, otherwise string) {
	cmd.Flags().StringVar(&c.path, "config", "", "path to a GuardConfiguration file, as for the webhook; if empty, "+otherwise)
}

// The configurations that are used without --config.
const (
	defaultConfiguration   = "the default configuration"
	installedConfiguration = "the configuration that gammaguard in the cluster runs with, or the default one if you cannot read it"
	projectConfiguration   = "that of .gammaguard.yaml, or else the default configuration"
	eitherConfiguration    = "that of .gammaguard.yaml; or else the one that gammaguard in the cluster runs with, if the command reads the cluster; or else the default configuration"
)

// addMesh adds the flag that names the mesh.
func addMesh(cmd *cobra.Command, value *meshNames, usage string) {
	names := profileNames()
	cmd.Flags().Var(value, "mesh", "mesh that applies the routes, in place of mesh in the configuration: "+strings.Join(names, ", ")+
		", with its version if it is known (kuma@2.13); "+usage)
	if err := cmd.RegisterFlagCompletionFunc("mesh", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// profileNames returns the meshes that there are profiles of.
func profileNames() (names []string) {
	for _, name := range mesh.ProfileNames() {
		names = append(names, string(name))
	}
	return names
}

// meshNames is the value of --mesh: one name, or several, separated by commas, if that is allowed.
type meshNames struct {
	names *string
	// several: more than one can be named.
	several bool
}

// String implements pflag.Value.
func (m *meshNames) String() string {
	if m.names == nil {
		return ""
	}
	return *m.names
}

// Type implements pflag.Value.
func (*meshNames) Type() string { return "string" }

// Set implements pflag.Value.
func (m *meshNames) Set(text string) error {
	names := []string{text}
	if m.several {
		names = strings.Split(text, ",")
	}
	for _, name := range names {
		if text != "" && mesh.FindProfile(mesh.ProfileName(name)) == nil {
			return fmt.Errorf("must be one of %s, alone or with a version, as in kuma@2.13", strings.Join(profileNames(), ", "))
		}
	}
	if m.several && *m.names != "" && text != "" {
		text = *m.names + "," + text
	}
	*m.names = text
	return nil
}

// load returns the configuration of the file, or the default one.
func (c *configuration) load() (*config.GuardConfiguration, error) {
	if c.path == "" {
		return config.Default(c.override()), nil
	}
	return config.LoadFile(c.path, c.override())
}

// override is what the flags say in place of the configuration.
func (c *configuration) override() config.Override { return config.WithMesh(mesh.ProfileName(c.mesh)) }
