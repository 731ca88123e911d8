// Sign a user in by go-oidc and golang.org/x/oauth2; verify access tokens by go-jose with nothing but the keys.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

var told struct {
	Issuer      string
	ClientID    string `json:"client_id"`
	Secret      string
	RedirectURI string `json:"redirect_uri"`
	Goodbye     string `json:"post_logout_redirect_uri"`
	API         string
	Algorithm   string `json:"id_token_alg"`
	Method      string
	Device      bool
}

// server is what go-oidc does not read of the metadata.
var server struct {
	Keys       string `json:"jwks_uri"`
	Introspect string `json:"introspection_endpoint"`
	Revoke     string `json:"revocation_endpoint"`
	EndSession string `json:"end_session_endpoint"`
}

var (
	ctx      = context.Background()
	lines    = bufio.NewScanner(os.Stdin)
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	config   oauth2.Config
)

type seen map[string]any

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// ask lets the user do something, and returns what comes of it.
func ask(question, argument string) (answer string) {
	fmt.Println(string(must(json.Marshal(map[string]string{question: argument}))))
	if !lines.Scan() {
		log.Fatal("no answer")
	}
	check(json.Unmarshal(lines.Bytes(), &answer))
	return answer
}

// refusal returns the error code that a request failed with.
func refusal(err error) any {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return refused.ErrorCode
	}
	check(err)
	return nil
}

// user verifies the ID token, and reads the claims of the user from both places.
func user(tokens *oauth2.Token, nonce string) (claims, info map[string]any) {
	id := must(verifier.Verify(ctx, tokens.Extra("id_token").(string)))
	if id.Nonce != nonce {
		log.Fatal("nonce")
	}
	check(id.VerifyAccessToken(tokens.AccessToken))
	check(id.Claims(&claims))
	check(must(provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))).Claims(&info))
	return claims, info
}

// authorize sends the user through the service; it returns the callback, and how to redeem its code.
func authorize(nonce string, scopes []string, more ...oauth2.AuthCodeOption) (url.Values, func() (*oauth2.Token, error)) {
	secret, state := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	asking := config
	asking.Scopes = scopes
	options := append([]oauth2.AuthCodeOption{oauth2.S256ChallengeOption(secret), oidc.Nonce(nonce)}, more...)
	callback := must(url.Parse(ask("open", asking.AuthCodeURL(state, options...)))).Query()
	if callback.Get("state") != state || callback.Get("iss") != told.Issuer {
		log.Fatal("state or iss")
	}
	return callback, func() (*oauth2.Token, error) {
		return config.Exchange(ctx, callback.Get("code"), oauth2.VerifierOption(secret))
	}
}

// post sends a form with the credentials of the client.
func post(address string, form url.Values) *http.Response {
	if told.Method == "none" {
		form.Set("client_id", told.ClientID)
	}
	request := must(http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode())))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if told.Method != "none" {
		request.SetBasicAuth(url.QueryEscape(told.ClientID), url.QueryEscape(told.Secret))
	}
	response := must(http.DefaultClient.Do(request))
	if response.StatusCode != http.StatusOK {
		log.Fatal(address, response.Status)
	}
	return response
}

func active(token string) bool {
	response := post(server.Introspect, url.Values{"token": {token}})
	defer response.Body.Close()
	var state struct{ Active bool }
	check(json.NewDecoder(response.Body).Decode(&state))
	return state.Active
}

// access verifies an access token as its resource server does.
func access(token string) (claims map[string]any) {
	parsed := must(jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256, jose.RS256}))
	response := must(http.Get(server.Keys))
	defer response.Body.Close()
	var keys jose.JSONWebKeySet
	check(json.NewDecoder(response.Body).Decode(&keys))
	if parsed.Headers[0].ExtraHeaders["typ"] != "at+jwt" {
		log.Fatal("typ")
	}
	var registered jwt.Claims
	check(parsed.Claims(keys, &registered, &claims))
	if registered.Expiry == nil || registered.ID == "" {
		log.Fatal("exp or jti")
	}
	check(registered.Validate(jwt.Expected{Issuer: told.Issuer, AnyAudience: jwt.Audience{told.API}, Time: time.Now()}))
	return claims
}

// refresh gets new tokens, whatever the age of the old ones.
func refresh(token string) (*oauth2.Token, error) {
	return config.TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
}

func renewal(seen seen, tokens *oauth2.Token) *oauth2.Token {
	refreshed := must(refresh(tokens.RefreshToken))
	seen["rotated"] = refreshed.RefreshToken != tokens.RefreshToken
	seen["refreshed"] = must(verifier.Verify(ctx, refreshed.Extra("id_token").(string))).Subject
	return refreshed
}

func revocation(seen seen, tokens *oauth2.Token) {
	post(server.Revoke, url.Values{"token": {tokens.RefreshToken}}).Body.Close()
	_, err := refresh(tokens.RefreshToken)
	seen["revoked"] = refusal(err)
}

func inBrowser() seen {
	seen := seen{}
	_, redeem := authorize("a nonce", []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess})
	tokens := must(redeem())
	seen["claims"], seen["user"] = user(tokens, "a nonce")
	_, err := redeem()
	seen["replay"] = refusal(err)
	refreshed := renewal(seen, tokens)
	if told.Method != "none" {
		seen["active"] = active(refreshed.AccessToken)
		own := clientcredentials.Config{
			ClientID: told.ClientID, ClientSecret: told.Secret, TokenURL: config.Endpoint.TokenURL,
			Scopes: []string{"orders:read"}, EndpointParams: url.Values{"resource": {told.API}},
		}
		seen["own"] = access(must(own.Token(ctx)).AccessToken)
	}

	_, redeem = authorize("", []string{oidc.ScopeOpenID, "orders:read"}, oauth2.SetAuthURLParam("resource", told.API))
	seen["api"] = access(must(redeem()).AccessToken)

	revocation(seen, refreshed)
	if told.Method != "none" {
		seen["inactive"] = active(refreshed.AccessToken)
	}

	leave := url.Values{
		"id_token_hint":            {refreshed.Extra("id_token").(string)},
		"post_logout_redirect_uri": {told.Goodbye},
		"state":                    {"bye"},
	}
	seen["left"] = ask("open", server.EndSession+"?"+leave.Encode())
	callback, _ := authorize("", []string{oidc.ScopeOpenID}, oauth2.SetAuthURLParam("prompt", "none"))
	seen["silent"] = callback.Get("error")
	return seen
}

func onDevice() seen {
	seen := seen{}
	config.Scopes = []string{oidc.ScopeOpenID, "email", oidc.ScopeOfflineAccess}
	started := must(config.DeviceAuth(ctx))
	seen["name"] = ask("approve", started.UserCode)
	tokens := must(config.DeviceAccessToken(ctx, started))
	seen["claims"], seen["user"] = user(tokens, "")
	revocation(seen, renewal(seen, tokens))
	return seen
}

func main() {
	check(json.Unmarshal([]byte(os.Getenv("APPLICATION")), &told))
	lines.Buffer(nil, 1<<20)
	provider = must(oidc.NewProvider(ctx, told.Issuer))
	check(provider.Claims(&server))
	verifier = provider.Verifier(&oidc.Config{ClientID: told.ClientID, SupportedSigningAlgs: []string{told.Algorithm}})
	config = oauth2.Config{
		ClientID: told.ClientID, ClientSecret: told.Secret, RedirectURL: told.RedirectURI, Endpoint: provider.Endpoint(),
	}
	journey := inBrowser
	if told.Device {
		journey = onDevice
	}
	fmt.Println(string(must(json.Marshal(map[string]any{"done": journey()}))))
}
