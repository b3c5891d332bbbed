package runner

import (
	"strings"

	"github.com/gammaguard/gammaguard/validate"
)

// administrator is who applies documents that name no user: the one of the control
// plane's kubeconfig.
const administrator = "kubernetes-admin"

// UserOf returns the user with the groups that the API server gives to it.
func UserOf(name string) validate.User {
	if name == "" {
		return validate.User{Name: administrator, Groups: []string{"system:masters", "system:authenticated"}}
	}
	user := validate.User{Name: name}
	if account, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
		if namespace, _, ok := strings.Cut(account, ":"); ok {
			user.Groups = append(user.Groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		}
	}
	user.Groups = append(user.Groups, "system:authenticated")
	return user
}
