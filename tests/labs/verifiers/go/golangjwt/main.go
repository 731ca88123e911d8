// Verify tokens by golang-jwt and keyfunc, with nothing but the address of the keys.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

func main() {
	document := os.Getenv("JWKS_URL")
	storage, err := jwkset.NewStorageFromHTTP(document, jwkset.HTTPClientStorageOptions{HTTPTimeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	client, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs:          map[string]jwkset.Storage{document: storage},
		RefreshUnknownKID: rate.NewLimiter(rate.Inf, 1),
	})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := keyfunc.New(keyfunc.Options{Storage: client, Ctx: context.Background()})
	if err != nil {
		log.Fatal(err)
	}
	parser := jwt.NewParser(
		jwt.WithIssuer(os.Getenv("ISSUER")), jwt.WithAudience(os.Getenv("AUDIENCE")), jwt.WithExpirationRequired(),
		jwt.WithLeeway(time.Minute), jwt.WithValidMethods([]string{"ES256", "RS256", "EdDSA"}),
	)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		token, err := parser.Parse(strings.TrimSpace(lines.Text()), keys.Keyfunc)
		if err != nil || token.Header["typ"] != "JWT" || token.Header["crit"] != nil {
			fmt.Println("refused", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
			continue
		}
		user, _ := token.Claims.GetSubject()
		fmt.Println("ok", user)
	}
}
