// A program that uses the generated Go SDK as its users do.
//
// Run beside two services that the environment names, the second of which requires no session; it prints nothing but
// what goes wrong.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"example.com/gatewright/gatewright"
)

const (
	password = "correct horse battery"
	ada      = "ada@example.com"
)

var client = clientOf("SERVICE_ROOT")

// clientOf gives the client of a service that the environment names. Where a redirect leads is for the journey to see.
func clientOf(variable string) *gatewright.APIClient {
	configuration := gatewright.NewConfiguration()
	configuration.Servers = gatewright.ServerConfigurations{{URL: os.Getenv(variable)}}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	configuration.HTTPClient = &http.Client{CheckRedirect: stay}
	return gatewright.NewAPIClient(configuration)
}

var nobody = context.Background()

// holding is the context of a session or of a pending sign-in.
func holding(token string) context.Context {
	return context.WithValue(nobody, gatewright.ContextAccessToken, token)
}

// ensure ends the journey unless something is so.
func ensure(isSo bool, seen ...any) {
	if !isSo {
		panic(fmt.Sprintf("not as expected: %+v", seen))
	}
}

// ok gives an answer that is no error.
func ok[Answer any](answer Answer, _ *http.Response, err error) Answer {
	var refusal *gatewright.GenericOpenAPIError
	if errors.As(err, &refusal) {
		panic(fmt.Sprintf("%v: %s", err, refusal.Body()))
	}
	ensure(err == nil, err)
	return answer
}

// refusedAs gives a check that an answer is an error of this kind.
func refusedAs[Answer any](status int, code gatewright.ErrorCode) func(Answer, *http.Response, error) {
	return func(answer Answer, response *http.Response, err error) {
		var refusal *gatewright.GenericOpenAPIError
		ensure(errors.As(err, &refusal), answer, err)
		told, isError := refusal.Model().(gatewright.Error)
		ensure(isError && response.StatusCode == status && told.Code == code && told.Message != "", told)
	}
}

func signIn() *gatewright.SignInAnswer {
	wanted := gatewright.NewSignInEmailRequest(ada, password)
	return ok(client.AuthenticationAPI.AuthenticationSignInEmail(nobody).SignInEmailRequest(*wanted).Execute())
}

func signedIn() context.Context { return holding(signIn().Token) }

func current(as context.Context) (*gatewright.CurrentSession, *http.Response, error) {
	return client.SessionsAPI.SessionsGetCurrent(as).Execute()
}

// totp is the code of an authenticator at this time (RFC 6238), for the secret of an otpauth address.
func totp(uri string) gatewright.VerifyTotpRequest {
	address, err := url.Parse(uri)
	ensure(err == nil, err)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(address.Query().Get("secret"))
	ensure(err == nil, err)
	mac := hmac.New(sha1.New, key)
	ensure(binary.Write(mac, binary.BigEndian, time.Now().Unix()/30) == nil)
	digest := mac.Sum(nil)
	number := binary.BigEndian.Uint32(digest[digest[19]&15:]) & 0x7fffffff
	return *gatewright.NewVerifyTotpRequest(fmt.Sprintf("%06d", number%1_000_000))
}

func service() {
	ensure(ok(client.ServiceAPI.ServiceCheckHealth(nobody).Execute()).Ok)
	ensure(ok(client.ServiceAPI.ServiceCheckReadiness(nobody).Execute()).Ready)
	page := ok(client.ServiceAPI.ServiceShowError(nobody).Error_("SOME_ERROR").Execute())
	ensure(strings.Contains(page, "SOME_ERROR"), page)
}

func sessions() {
	name := *gatewright.NewCheckUsernameRequest("ada")
	ensure(ok(client.UsersAPI.UsersCheckUsername(nobody).CheckUsernameRequest(name).Execute()).Available)
	wanted := gatewright.NewSignUpRequest("Ada", ada, password)
	wanted.SetUsername("ada")
	wanted.SetRememberMe(true)
	signUp := client.AuthenticationAPI.AuthenticationSignUpEmail(nobody)
	made := ok(signUp.SignUpRequest(*wanted).Execute())
	ensure(len(made.GetToken()) == 32 && !made.User.Image.IsSet() || made.User.Image.Get() == nil, made)
	taken := *gatewright.NewSignUpRequest("Eve", ada, password)
	refusedAs[*gatewright.SignedUp](422, gatewright.ERRORCODE_USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL)(signUp.SignUpRequest(taken).Execute())
	wrong := *gatewright.NewSignInEmailRequest(ada, "wrong")
	refusedAs[*gatewright.SignInAnswer](401, gatewright.ERRORCODE_INVALID_EMAIL_OR_PASSWORD)(
		client.AuthenticationAPI.AuthenticationSignInEmail(nobody).SignInEmailRequest(wrong).Execute())

	one, two, three := signedIn(), signIn(), signedIn()
	ensure(two.User.Get().Email == ada && two.TwoFactorRedirect == nil, two)
	byName := *gatewright.NewSignInUsernameRequest("ADA", password)
	answer := ok(client.AuthenticationAPI.AuthenticationSignInUsername(nobody).SignInUsernameRequest(byName).Execute())
	found := ok(current(holding(answer.Token)))
	ensure(found.User.Id == found.Session.UserId && found.User.GetUsername() == "ada", found)

	listed := ok(client.SessionsAPI.SessionsListActive(one).Execute())
	ensure(len(listed) == 5, listed)
	ensure(strings.Count(ok(client.JwtAPI.JwtIssue(one).Execute()).Token, ".") == 2)
	keys := ok(client.JwtAPI.JwtKeys(nobody).Execute()).Keys
	ensure(len(keys) > 0 && keys[0].Kid == ok(client.JwtAPI.JwtWellKnownKeys(nobody).Execute()).Keys[0].Kid, keys)
	inMilliseconds := false
	for _, session := range listed {
		inMilliseconds = inMilliseconds || session.CreatedAt.Nanosecond() > 0
		ensure(time.Since(session.CreatedAt).Abs() < time.Hour && session.ExpiresAt.After(session.CreatedAt), session)
	}
	ensure(inMilliseconds, listed)
	which := *gatewright.NewRevokeSessionRequest(two.Token)
	ended := ok(client.SessionsAPI.SessionsRevoke(one).RevokeSessionRequest(which).Execute())
	ensure(ended.Success && ended.Status, ended)
	isOver := refusedAs[*gatewright.CurrentSession](401, gatewright.ERRORCODE_UNAUTHORIZED)
	isOver(current(holding(two.Token)))
	ensure(ok(client.SessionsAPI.SessionsRevokeOthers(one).Execute()).Count == 3)
	isOver(current(three))
	ensure(ok(client.AuthenticationAPI.AuthenticationSignOut(one).Execute()).Success)
	isOver(current(one))
	four := signedIn()
	ensure(ok(client.SessionsAPI.SessionsRevokeAll(four).Execute()).Count == 1)
	isOver(current(four))
	isOver(current(nobody))
	nothing := ok(clientOf("OPEN_ROOT").SessionsAPI.SessionsGetCurrent(nobody).Execute())
	ensure(nothing == nil, nothing)
}

func provider() {
	as := signedIn()
	ensure(len(ok(client.DiscoveryAPI.DiscoveryOpenid(nobody).Execute()).Issuer) > 0)
	ensure(len(ok(client.OauthConsentsAPI.OauthConsentsList(as).Execute())) == 0)
	refusedAs[*gatewright.OAuthConsent](404, gatewright.ERRORCODE_CONSENT_NOT_FOUND)(
		client.OauthConsentsAPI.OauthConsentsRead(as).Id(strings.Repeat("x", 32)).Execute())
}

func profile() {
	as := signedIn()
	change := func(set func(*gatewright.UpdateUserRequest)) (*gatewright.Status, *http.Response, error) {
		wanted := gatewright.NewUpdateUserRequest()
		set(wanted)
		return client.UsersAPI.UsersUpdate(as).UpdateUserRequest(*wanted).Execute()
	}
	ok(change(func(it *gatewright.UpdateUserRequest) { it.SetImage("https://example.com/ada.png") }))
	ok(change(func(it *gatewright.UpdateUserRequest) { it.SetName("Countess") }))
	found := ok(current(as)).User
	ensure(found.Name == "Countess" && found.GetImage() == "https://example.com/ada.png", found)
	ok(change(func(it *gatewright.UpdateUserRequest) { it.SetImageNil() }))
	ensure(ok(current(as)).User.Image.Get() == nil)
	refusedAs[*gatewright.Status](400, gatewright.ERRORCODE_VALIDATION_ERROR)(
		change(func(it *gatewright.UpdateUserRequest) { it.SetImage("none") }))
}

func twoFactor() {
	as, api := signedIn(), client.TwoFactorAPI
	enabled := ok(api.TwoFactorEnable(as).EnableTwoFactorRequest(*gatewright.NewEnableTwoFactorRequest(password)).Execute())
	ensure(len(enabled.BackupCodes) == 10, enabled)
	ok(api.TwoFactorVerifyTotp(as).VerifyTotpRequest(totp(enabled.GetTotpURI())).Execute())
	waiting := pending()
	refusedAs[*gatewright.TotpVerified](401, gatewright.ERRORCODE_INVALID_CODE)(
		api.TwoFactorVerifyTotp(waiting).VerifyTotpRequest(*gatewright.NewVerifyTotpRequest("none")).Execute())
	session := ok(api.TwoFactorVerifyTotp(waiting).VerifyTotpRequest(totp(enabled.GetTotpURI())).Execute()).Token
	ensure(ok(current(holding(session))).User.TwoFactorEnabled)
}

// pending signs in up to the second factor.
func pending() context.Context {
	answer := signIn()
	ensure(answer.GetTwoFactorRedirect() && answer.GetPending() && answer.User.Get() == nil, answer)
	methods := answer.TwoFactorMethods
	ensure(len(methods) == 2 && methods[0] == gatewright.TWOFACTORMETHOD_TOTP, methods)
	return holding(answer.Token)
}

func main() {
	for _, stage := range []func(){service, sessions, profile, provider, twoFactor} {
		stage()
	}
}
