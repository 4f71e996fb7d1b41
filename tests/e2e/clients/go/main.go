// SPDX-License-Identifier: BSD-3-Clause

// Publishes as Eclipse Paho for Go does: go-client HOST PORT CLIENT-ID TOPIC... Prints what happens, one line each.
package main

import (
	"fmt"
	"os"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func main() {
	lost := make(chan struct{})
	options := mqtt.NewClientOptions().AddBroker("tcp://" + os.Args[1] + ":" + os.Args[2]).SetClientID(os.Args[3]).
		SetAutoReconnect(false).SetConnectTimeout(20 * time.Second).SetConnectionLostHandler(func(mqtt.Client, error) { close(lost) })
	c := mqtt.NewClient(options)
	if t := c.Connect(); t.Wait() && t.Error() != nil {
		fmt.Println("refused")
		return
	}
	failed := false
	for _, topic := range os.Args[4:] {
		t := c.Publish(topic, 1, false, os.Args[3]+" "+topic)
		if failed = !t.WaitTimeout(20*time.Second) || t.Error() != nil; failed {
			break
		}
		fmt.Println("acknowledged", topic)
	}
	if failed {
		<-lost
		fmt.Println("lost")
	} else {
		c.Disconnect(250)
	}
	fmt.Println("closed")
}
