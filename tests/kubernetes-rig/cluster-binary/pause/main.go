// What holds the namespaces of a Pod open: it waits, and reaps whatever becomes its child.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for one := range heard {
		if one != syscall.SIGCHLD {
			return
		}
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}
