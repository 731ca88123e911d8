// A program that uses the generated Go SDK as its users do: every operation of the contract, through its method.
//
// Run beside two services, the second of which requires no session, and a provider, all of which the environment names;
// it prints nothing but what goes wrong.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"example.com/gatewright/gatewright"
)

const (
	password    = "correct horse battery"
	newPassword = "four more words than before"
	ada         = "ada@example.com"
	patience    = 10 * time.Second
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

type mail struct{ Template, To, Link, Code string }

// mailed waits for a mail, and gives the newest one.
func mailed(template, to string) mail {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		content, _ := os.ReadFile(os.Getenv("MAIL_FILE"))
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			var found mail
			if json.Unmarshal([]byte(lines[i]), &found) == nil && found.Template == template && found.To == to {
				return found
			}
		}
	}
	panic("no mail " + template + " to " + to)
}

// tokenIn gives the token that a mailed link carries.
func tokenIn(link string) string {
	address, err := url.Parse(link)
	ensure(err == nil, err)
	if token := address.Query().Get("token"); token != "" {
		return token
	}
	return path.Base(address.Path)
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
	ensure(strings.Count(ok(client.TokensAPI.TokensIssue(one).Execute()).Token, ".") == 2)
	keys := ok(client.TokensAPI.TokensKeys(nobody).Execute()).Keys
	ensure(len(keys) > 0 && keys[0].Kid == ok(client.TokensAPI.TokensWellKnownKeys(nobody).Execute()).Keys[0].Kid, keys)
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

func passwords() {
	as, api := signedIn(), client.PasswordsAPI
	ensure(ok(api.PasswordsVerify(as).VerifyPasswordRequest(*gatewright.NewVerifyPasswordRequest(password)).Execute()).Status)
	change := gatewright.NewChangePasswordRequest(password, newPassword)
	change.SetRevokeOtherSessions(true)
	ensure(ok(api.PasswordsChange(as).ChangePasswordRequest(*change).Execute()).User.Email == ada)
	forgotten := *gatewright.NewRequestPasswordResetRequest(ada)
	ensure(ok(api.PasswordsRequestReset(nobody).RequestPasswordResetRequest(forgotten).Execute()).Status)
	token := tokenIn(mailed("reset-password", ada).Link)
	ensure(ok(api.PasswordsCheckResetToken(nobody, token).Execute()).Token == token)
	reset := gatewright.NewResetPasswordRequest(password)
	reset.SetToken(token)
	ensure(ok(api.PasswordsReset(nobody).ResetPasswordRequest(*reset).Execute()).Status)
	refusedAs[*gatewright.PasswordReset](400, gatewright.ERRORCODE_INVALID_TOKEN)(
		api.PasswordsReset(nobody).ResetPasswordRequest(*reset).Execute())
	ensure(ok(api.PasswordsForget(nobody).RequestPasswordResetRequest(forgotten).Execute()).Status)
}

func emailsAndProfile() {
	as, api := signedIn(), client.EmailsAPI
	ok(api.EmailsSendVerification(as).SendVerificationEmailRequest(*gatewright.NewSendVerificationEmailRequest(ada)).Execute())
	ok(api.EmailsVerify(as).Token(tokenIn(mailed("verify-email", ada).Link)).Execute())
	ensure(ok(current(as)).User.EmailVerified)
	ensure(ok(api.EmailsChange(as).ChangeEmailRequest(*gatewright.NewChangeEmailRequest("countess@example.com")).Execute()).VerificationSent)
	mailed("change-email", "countess@example.com")

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
	uri := ok(api.TwoFactorGetTotpUri(as).GetTotpUriRequest(*gatewright.NewGetTotpUriRequest(password)).Execute()).TotpURI
	ok(api.TwoFactorVerifyTotp(as).VerifyTotpRequest(totp(uri)).Execute())
	again := *gatewright.NewGenerateBackupCodesRequest(password)
	backup := ok(api.TwoFactorGenerateBackupCodes(as).GenerateBackupCodesRequest(again).Execute()).BackupCodes[0]

	waiting := pending()
	refusedAs[*gatewright.TotpVerified](401, gatewright.ERRORCODE_INVALID_CODE)(
		api.TwoFactorVerifyTotp(waiting).VerifyTotpRequest(*gatewright.NewVerifyTotpRequest("none")).Execute())
	session := ok(api.TwoFactorVerifyTotp(waiting).VerifyTotpRequest(totp(uri)).Execute()).Token
	ensure(ok(current(holding(session))).User.TwoFactorEnabled)
	waiting = pending()
	ensure(ok(api.TwoFactorSendOtp(waiting).Execute()).Status)
	code := gatewright.NewVerifyOtpRequest(mailed("otp", ada).Code)
	code.SetTrustDevice(true)
	ok(api.TwoFactorVerifyOtp(waiting).VerifyOtpRequest(*code).Execute())
	ok(api.TwoFactorVerifyBackupCode(pending()).VerifyBackupCodeRequest(*gatewright.NewVerifyBackupCodeRequest(backup)).Execute())
	ok(api.TwoFactorDisable(as).DisableTwoFactorRequest(*gatewright.NewDisableTwoFactorRequest(password)).Execute())
}

// pending signs in up to the second factor.
func pending() context.Context {
	answer := signIn()
	ensure(answer.GetTwoFactorRedirect() && answer.GetPending() && answer.User.Get() == nil, answer)
	methods := answer.TwoFactorMethods
	ensure(len(methods) == 2 && methods[0] == gatewright.TWOFACTORMETHOD_TOTP, methods)
	return holding(answer.Token)
}

func providers() {
	as, api := signedIn(), client.AccountsAPI
	claims := `{"user": {"sub": "7", "email": "ada@example.com", "email_verified": true, "name": "Ada"}}`
	told, err := http.Post(os.Getenv("PROVIDER_ISSUER")+"/control", "application/json", strings.NewReader(claims))
	ensure(err == nil && told.StatusCode < 300, told, err)
	link := gatewright.NewLinkSocialRequest("test")
	link.SetCallbackURL("/")
	begun, response, err := api.AccountsLinkSocial(as).LinkSocialRequest(*link).Execute()
	comeBack(ok(begun, response, err).Url, response)
	wanted := gatewright.NewSignInSocialRequest("test")
	wanted.SetScopes([]string{"openid", "email"})
	wanted.SetCallbackURL("/")
	social, response, err := client.AuthenticationAPI.AuthenticationSignInSocial(nobody).SignInSocialRequest(*wanted).Execute()
	comeBack(ok(social, response, err).GetUrl(), response)
	response, _ = api.AccountsRelayCallback(nobody, "test").State("x").Code("y").Execute()
	ensure(response.StatusCode == 303, response)

	linked := ok(api.AccountsListLinked(as).Execute())
	ensure(len(linked) == 2 && linked[0].Provider == "credential" && linked[1].Provider == "test", linked)
	which := gatewright.NewProviderTokenRequest()
	which.SetProviderId("test")
	ensure(ok(api.AccountsGetAccessToken(as).ProviderTokenRequest(*which).Execute()).TokenType == "Bearer")
	ok(api.AccountsRefreshToken(as).ProviderTokenRequest(*which).Execute())
	profile := ok(api.AccountsGetProfile(as).ProviderId("test").Execute())
	ensure(profile.User.GetEmail() == ada && profile.Data["sub"] == "7", profile)
	unwanted := gatewright.NewUnlinkAccountRequest()
	unwanted.SetProviderId("test")
	ensure(ok(api.AccountsUnlink(as).UnlinkAccountRequest(*unwanted).Execute()).Status)
}

// comeBack visits the provider, which decides at once, and brings its answer to the service, with the flow's cookie.
func comeBack(page string, begun *http.Response) {
	visited, err := client.GetConfig().HTTPClient.Get(page)
	ensure(err == nil, err)
	address, err := visited.Location()
	ensure(err == nil, err)
	back := clientOf("SERVICE_ROOT")
	cookie, _, _ := strings.Cut(begun.Header.Get("Set-Cookie"), ";")
	back.GetConfig().AddDefaultHeader("Cookie", cookie)
	answer := address.Query()
	landed, _ := back.AccountsAPI.AccountsReceiveCallback(nobody, "test").Code(answer.Get("code")).State(answer.Get("state")).Execute()
	ensure(landed.StatusCode == 302 && !strings.Contains(landed.Header.Get("Location"), "error"), landed)
}

func administration() {
	api := client.AdminAPI
	who := *gatewright.NewSignInEmailRequest(os.Getenv("ADMIN_EMAIL"), password)
	as := holding(ok(client.AuthenticationAPI.AuthenticationSignInEmail(nobody).SignInEmailRequest(who).Execute()).Token)
	wanted := *gatewright.NewCreateUserRequest("grace@example.com", "Grace")
	wanted.SetPassword(password)
	user := ok(api.AdminCreateUser(as).CreateUserRequest(wanted).Execute()).User
	which := *gatewright.NewUserIdRequest(user.Id)
	ensure(ok(api.AdminListUsers(as).SearchValue("grace").Limit(1).Execute()).Users[0].Id == user.Id)
	ensure(ok(api.AdminGetUser(as).Id(user.Id).Execute()).Email == user.Email)
	data := *gatewright.NewUpdateUserData()
	data.SetName("Grace H.")
	changes := *gatewright.NewUpdateUserAsAdminRequest(user.Id, data)
	ensure(ok(api.AdminUpdateUser(as).UpdateUserAsAdminRequest(changes).Execute()).Name == "Grace H.")
	event := ok(client.AuditAPI.AuditListEvents(as).Subject(user.Id).Limit(1).Execute()).Events[0]
	ensure(ok(client.AuditAPI.AuditGetEvent(as).Id(event.Id).Execute()).Event == event.Event)
	ensure(len(ok(client.ApiKeysAPI.ApiKeysListAll(as).Owner(user.Id).Execute()).ApiKeys) == 0)
	ensure(strings.Contains(ok(api.AdminExportUsers(as).Search("grace").Execute()), ",grace@example.com,"))
	ensure(strings.Contains(ok(client.AuditAPI.AuditExportEvents(as).Subject(user.Id).Execute()), "user.created"))
	ensure(len(ok(client.StatisticsAPI.StatisticsGet(as).Execute()).Days) == 30)
	acting := ok(api.AdminImpersonateUser(as).UserIdRequest(which).Execute()).Session
	ensure(acting.GetImpersonatedBy() != "")
	ok(api.AdminStopImpersonating(holding(acting.Token)).Execute())
	roles := *gatewright.NewSetRoleRequest(user.Id, []string{"user", "admin"})
	ok(api.AdminSetRole(as).SetRoleRequest(roles).Execute())
	asked := *gatewright.NewHasPermissionRequest(map[string][]string{"user": {"ban", "list"}})
	ensure(ok(api.AdminHasPermission(as).HasPermissionRequest(asked).Execute()).Success)
	ensure(len(ok(api.AdminListUserSessions(as).UserIdRequest(which).Execute()).Sessions) == 0)
	session := *gatewright.NewRevokeUserSessionRequest(strings.Repeat("x", 32))
	ok(api.AdminRevokeUserSession(as).RevokeUserSessionRequest(session).Execute())
	ensure(ok(api.AdminRevokeUserSessions(as).UserIdRequest(which).Execute()).Count == 0)
	account := ok(api.AdminListUserAccounts(as).Id(user.Id).Execute()).Accounts[0]
	unlinked := *gatewright.NewUnlinkUserAccountRequest(user.Id, account.Id)
	refusedAs[*gatewright.Success](400, gatewright.ERRORCODE_FAILED_TO_UNLINK_LAST_ACCOUNT)(api.AdminUnlinkUserAccount(as).UnlinkUserAccountRequest(unlinked).Execute())
	ensure(len(ok(api.AdminListUserPasskeys(as).Id(user.Id).Execute()).Passkeys) == 0)
	lost := *gatewright.NewRemoveUserPasskeyRequest(user.Id, strings.Repeat("x", 32))
	refusedAs[*gatewright.Success](404, gatewright.ERRORCODE_PASSKEY_NOT_FOUND)(api.AdminRemoveUserPasskey(as).RemoveUserPasskeyRequest(lost).Execute())
	ok(api.AdminSendPasswordReset(as).SendPasswordResetRequest(*gatewright.NewSendPasswordResetRequest(user.Id)).Execute())
	ensure(len(ok(api.AdminExportUser(as).Id(user.Id).Execute()).Sessions) == 0)
	secret := *gatewright.NewSetUserPasswordRequest(user.Id, "four more words than before")
	ok(api.AdminSetUserPassword(as).SetUserPasswordRequest(secret).Execute())
	ok(api.AdminResetTwoFactor(as).UserIdRequest(which).Execute())
	ban := *gatewright.NewBanUserRequest(user.Id)
	ensure(ok(api.AdminBanUser(as).BanUserRequest(ban).Execute()).User.Banned)
	ok(api.AdminUnbanUser(as).UserIdRequest(which).Execute())
	ok(api.AdminRemoveUser(as).UserIdRequest(which).Execute())
	refusedAs[*gatewright.User](404, gatewright.ERRORCODE_USER_NOT_FOUND)(api.AdminGetUser(as).Id(user.Id).Execute())
}

func apiKeys() {
	as, api, verifier := signedIn(), client.ApiKeysAPI, holding(os.Getenv("VERIFIER"))
	wanted := *gatewright.NewCreateApiKeyRequest()
	wanted.SetName("ci")
	made := ok(api.ApiKeysCreate(as).CreateApiKeyRequest(wanted).Execute())
	ensure(ok(api.ApiKeysGet(as).Id(made.Id).Execute()).GetStart() == made.GetStart())
	ensure(ok(api.ApiKeysListOwn(as).SortBy("name").Execute()).Total == 1)
	asked := *gatewright.NewVerifyApiKeyRequest(made.Key)
	ensure(ok(api.ApiKeysVerify(verifier).VerifyApiKeyRequest(asked).Execute()).Valid)
	changes := *gatewright.NewUpdateApiKeyRequest(made.Id)
	changes.SetEnabled(false)
	ok(api.ApiKeysUpdate(as).UpdateApiKeyRequest(changes).Execute())
	ensure(!ok(api.ApiKeysVerify(verifier).VerifyApiKeyRequest(asked).Execute()).Valid)
	ok(api.ApiKeysDelete(as).DeleteApiKeyRequest(*gatewright.NewDeleteApiKeyRequest(made.Id)).Execute())
	refusedAs[*gatewright.ApiKey](404, gatewright.ERRORCODE_KEY_NOT_FOUND)(api.ApiKeysGet(as).Id(made.Id).Execute())
}

func signInByMail() {
	links, codes := client.MagicLinksAPI, client.EmailCodesAPI
	mary, grace, renamed := "mary@example.com", "grace.code@example.com", "grace.new@example.com"
	request := func(email string) string {
		ok(links.MagicLinksRequest(nobody).RequestMagicLinkRequest(*gatewright.NewRequestMagicLinkRequest(email)).Execute())
		return tokenIn(mailed("magic-link", email).Link)
	}
	token := request(ada)
	ensure(!ok(links.MagicLinksPeek(nobody).Token(token).Execute()).NewUser)
	ok(links.MagicLinksVerify(nobody).Token(token).Execute())
	ok(links.MagicLinksConfirm(nobody).ConfirmMagicLinkRequest(*gatewright.NewConfirmMagicLinkRequest(request(mary))).Execute())
	send := func(email, kind string) {
		ok(codes.EmailCodesSend(nobody).SendEmailCodeRequest(*gatewright.NewSendEmailCodeRequest(email, kind)).Execute())
	}
	send(ada, "sign-in")
	code := mailed("sign-in-code", ada).Code
	ok(codes.EmailCodesCheck(nobody).CheckEmailCodeRequest(*gatewright.NewCheckEmailCodeRequest(ada, "sign-in", code)).Execute())
	ok(codes.EmailCodesSignIn(nobody).SignInEmailCodeRequest(*gatewright.NewSignInEmailCodeRequest(ada, code)).Execute())
	signUp := *gatewright.NewSignUpRequest("Grace", grace, password)
	as := holding(ok(client.AuthenticationAPI.AuthenticationSignUpEmail(nobody).SignUpRequest(signUp).Execute()).GetToken())
	send(grace, "email-verification")
	verify := *gatewright.NewVerifyEmailCodeRequest(grace, mailed("verify-email-code", grace).Code)
	ok(codes.EmailCodesVerifyEmail(nobody).VerifyEmailCodeRequest(verify).Execute())
	ok(codes.EmailCodesRequestChange(as).RequestEmailChangeRequest(*gatewright.NewRequestEmailChangeRequest(renamed)).Execute())
	change := *gatewright.NewChangeEmailByCodeRequest(renamed, mailed("change-email-code", renamed).Code)
	ok(codes.EmailCodesChangeEmail(as).ChangeEmailByCodeRequest(change).Execute())
	ok(codes.EmailCodesForgetPassword(nobody).RequestResetCodeRequest(*gatewright.NewRequestResetCodeRequest(mary)).Execute())
	ok(codes.EmailCodesRequestReset(nobody).RequestResetCodeRequest(*gatewright.NewRequestResetCodeRequest(ada)).Execute())
	reset := *gatewright.NewResetPasswordByCodeRequest(ada, mailed("reset-password-code", ada).Code, password)
	ok(codes.EmailCodesResetPassword(nobody).ResetPasswordByCodeRequest(reset).Execute())
}

func deletion() {
	as, api := signedIn(), client.UsersAPI
	refusedAs[*gatewright.UserDeleted](404, gatewright.ERRORCODE_INVALID_TOKEN)(
		api.UsersConfirmDeletion(as).Token(strings.Repeat("x", 32)).Execute())
	request := gatewright.NewDeleteUserRequest()
	request.SetPassword(password)
	ensure(ok(api.UsersDelete(as).DeleteUserRequest(*request).Execute()).Success)
	refusedAs[*gatewright.CurrentSession](401, gatewright.ERRORCODE_UNAUTHORIZED)(current(as))
}

func main() {
	for _, stage := range []func(){service, sessions, passwords, emailsAndProfile, twoFactor, providers, administration, apiKeys, signInByMail, deletion} {
		stage()
	}
}
