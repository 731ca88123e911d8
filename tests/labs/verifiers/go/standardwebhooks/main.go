// Verify requests of webhooks by standard-webhooks.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			Secret  string
			Headers map[string]string
			Body    []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			log.Fatal(err)
		}
		webhook, err := standardwebhooks.NewWebhook(request.Secret)
		if err != nil {
			log.Fatal(err)
		}
		headers := http.Header{}
		for name, value := range request.Headers {
			headers.Set(name, value)
		}
		var event struct{ Type string }
		if err := webhook.Verify(request.Body, headers); err != nil {
			fmt.Println("refused", strings.ReplaceAll(err.Error(), "\n", " "))
		} else if err := json.Unmarshal(request.Body, &event); err != nil {
			log.Fatal(err)
		} else {
			fmt.Println("ok", event.Type)
		}
	}
}
