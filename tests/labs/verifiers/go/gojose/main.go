// Verify tokens by go-jose, with nothing but the address of the keys.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

var known jose.JSONWebKeySet

func find(kid string) (*jose.JSONWebKey, error) {
	if keys := known.Key(kid); len(keys) == 1 {
		return &keys[0], nil
	}
	response, err := http.Get(os.Getenv("JWKS_URL"))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	known = jose.JSONWebKeySet{}
	if err := json.NewDecoder(response.Body).Decode(&known); err != nil {
		return nil, err
	}
	if keys := known.Key(kid); len(keys) == 1 {
		return &keys[0], nil
	}
	return nil, errors.New("unknown key")
}

func verify(written string) (string, error) {
	token, err := jwt.ParseSigned(written, []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA})
	if err != nil {
		return "", err
	}
	header := token.Headers[0]
	if header.ExtraHeaders["typ"] != "JWT" {
		return "", errors.New("typ")
	}
	key, err := find(header.KeyID)
	if err != nil {
		return "", err
	}
	if key.Algorithm != header.Algorithm {
		return "", errors.New("alg")
	}
	var claims jwt.Claims
	if err := token.Claims(key.Key, &claims); err != nil {
		return "", err
	}
	if claims.Expiry == nil {
		return "", errors.New("exp")
	}
	expected := jwt.Expected{
		Issuer: os.Getenv("ISSUER"), AnyAudience: jwt.Audience{os.Getenv("AUDIENCE")}, Time: time.Now(),
	}
	return claims.Subject, claims.ValidateWithLeeway(expected, time.Minute)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if user, err := verify(strings.TrimSpace(lines.Text())); err != nil {
			fmt.Println("refused", err)
		} else {
			fmt.Println("ok", user)
		}
	}
}
