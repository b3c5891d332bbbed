package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

func newDetectMesh() *cobra.Command {
	var access *access
	output := ""
	cmd := &cobra.Command{
		Use:   "detect-mesh",
		Short: "Detect the mesh in a live cluster, and propose its value for the configuration",
		Long: `Look in a live cluster for the API groups and the control planes of the meshes that gammaguard has a profile of. Propose a
value for mesh in the configuration, with the version that the images of the control plane name. The command only reads from the cluster. If
you cannot list Deployments in all namespaces, it reports that, and uses the API groups alone.

Exit codes: 0 if there is a proposal, 1 if there is none, 2 if the usage is invalid or the cluster cannot be read.`,
		Example: `  # Propose the mesh of the current context
  gammaguard detect-mesh`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return detectMesh(cmd, access, output) },
	}
	addOutput(cmd, &output, "text", "text", "json", "yaml")
	access = addCluster(cmd)
	return cmd
}

func detectMesh(cmd *cobra.Command, access *access, output string) error {
	live, err := access.connect(cmd.Context())
	if err != nil {
		return err
	}
	found, err := live.DetectMeshes(cmd.Context())
	if err != nil {
		return err
	}
	if unseen := live.Unseen(); len(unseen) > 0 {
		defer printable.Fprintf(cmd.ErrOrStderr(), "note: you cannot read %s, so only API groups are looked at; ask for the right to list them\n", strings.Join(unseen, ", "))
	}
	out := cmd.OutOrStdout()
	if isData(output) {
		result := cluster.NewDetection(found)
		if err := writeData(out, output, result); err != nil || result.Proposal != "" {
			return err
		}
		return errFindings
	}
	if len(found) > 0 {
		if err := cluster.DetectedTable(out, found); err != nil {
			return err
		}
		printable.Row(out)
	}
	proposal, note, err := cluster.Propose(found)
	if err != nil {
		printable.Fprintf(out, "There is no mesh to propose: %v. Without mesh, gammaguard follows the specification.\n", err)
		return errFindings
	}
	if note != "" {
		note = " (" + note + ")"
	}
	printable.Fprintf(out, "Set this in the configuration of gammaguard%s:\n\nmesh: %s\n", note, proposal.Name())
	if mesh.FindProfile(proposal.Name()).Newer() {
		printable.Fprintf(out, "\nThis release is newer than what gammaguard knows of %s (%s): it warns where it would deny.\n", proposal.Profile.Title, proposal.Profile.Newest)
	}
	return nil
}
