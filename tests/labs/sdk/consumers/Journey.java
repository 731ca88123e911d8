// A program that uses the generated Java SDK as its users do.
//
// Run beside two services that the environment names, the second of which requires no session; it prints nothing but
// what goes wrong.

import com.example.gatewright.ApiClient;
import com.example.gatewright.ApiException;
import com.example.gatewright.api.AccountsApi;
import com.example.gatewright.api.AuthenticationApi;
import com.example.gatewright.api.SessionsApi;
import com.example.gatewright.api.TwoFactorApi;
import com.example.gatewright.api.UsersApi;
import com.example.gatewright.model.EnableTwoFactorRequest;
import com.example.gatewright.model.Error;
import com.example.gatewright.model.ErrorCode;
import com.example.gatewright.model.RevokeSessionRequest;
import com.example.gatewright.model.SignInAnswer;
import com.example.gatewright.model.SignInEmailRequest;
import com.example.gatewright.model.SignUpRequest;
import com.example.gatewright.model.TwoFactorMethod;
import com.example.gatewright.model.UpdateUserRequest;
import com.example.gatewright.model.VerifyTotpRequest;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Set;
import java.util.concurrent.Callable;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Journey {
  static final String PASSWORD = "correct horse battery";
  static final String ADA = "ada@example.com";

  /** See that something is so; otherwise the journey ends. */
  static void ensure(boolean isSo, Object seen) {
    if (!isSo) throw new AssertionError("not as expected: " + seen);
  }

  /** Give the client of nobody, of a session, or of a pending sign-in; this SDK leaves its token to an interceptor. */
  static ApiClient holding(String token) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("SERVICE_ROOT"));
    if (token != null) client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    return client;
  }

  static SessionsApi sessionsOf(String token) {
    return new SessionsApi(holding(token));
  }

  static final AuthenticationApi nobody = new AuthenticationApi(holding(null));

  /** See that a request is refused in this way. */
  static void refused(int status, ErrorCode code, Callable<?> request) throws Exception {
    Object answer;
    try {
      answer = request.call();
    } catch (ApiException refusal) {
      Error error = ApiClient.createDefaultObjectMapper().readValue(refusal.getResponseBody(), Error.class);
      ensure(refusal.getCode() == status && error.getCode() == code && !error.getMessage().isEmpty(), refusal);
      return;
    }
    throw new AssertionError("not refused: " + answer);
  }

  static SignInAnswer signIn(String password) throws ApiException {
    return nobody.signInEmail(new SignInEmailRequest().email(ADA).password(password).rememberMe(true));
  }

  /** The code of an authenticator at this time (RFC 6238), for the secret of an otpauth address. */
  static VerifyTotpRequest totp(String uri) throws Exception {
    String secret = uri.replaceAll(".*[?&]secret=([A-Z2-7]+).*", "$1");
    ByteBuffer key = ByteBuffer.allocate(secret.length() * 5 / 8);
    int held = 0;
    int bits = 0;
    for (char letter : secret.toCharArray()) {
      held = (held << 5 | "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter)) & 0xfff;
      bits += 5;
      if (bits >= 8) key.put((byte) (held >> (bits -= 8)));
    }
    Mac mac = Mac.getInstance("HmacSHA1");
    mac.init(new SecretKeySpec(key.array(), "HmacSHA1"));
    byte[] digest = mac.doFinal(ByteBuffer.allocate(8).putLong(System.currentTimeMillis() / 30_000).array());
    int number = ByteBuffer.wrap(digest, digest[19] & 15, 4).getInt() & Integer.MAX_VALUE;
    return new VerifyTotpRequest().code(String.format("%06d", number % 1_000_000));
  }

  static void signingUp() throws Exception {
    SignUpRequest wanted = new SignUpRequest().name("Ada").email(ADA).password(PASSWORD);
    var made = nobody.signUpEmail(wanted);
    ensure(made.getToken().length() == 32 && made.getUser().getImage() == null, made);
    refused(422, ErrorCode.USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL, () -> nobody.signUpEmail(wanted));
    refused(400, ErrorCode.VALIDATION_ERROR, () -> nobody.signUpEmail(wanted.email("none")));
    refused(401, ErrorCode.INVALID_EMAIL_OR_PASSWORD, () -> signIn("wrong"));
  }

  static void sessions() throws Exception {
    SignInAnswer one = signIn(PASSWORD);
    SignInAnswer two = signIn(PASSWORD);
    signIn(PASSWORD);
    ensure(one.getUser().getEmail().equals(ADA) && one.getTwoFactorRedirect() == null, one);
    SessionsApi mine = sessionsOf(one.getToken());
    var found = mine.getCurrent(null);
    ensure(found.getUser().getId().equals(found.getSession().getUserId()), found);
    var listed = mine.listActive();
    ensure(listed.size() == 4, listed);
    ensure(listed.stream().anyMatch(session -> session.getCreatedAt().getNano() > 0), listed);
    var age = Duration.between(listed.get(0).getCreatedAt(), OffsetDateTime.now()).abs();
    ensure(age.compareTo(Duration.ofHours(1)) < 0, age);
    var ended = mine.revoke(new RevokeSessionRequest().token(two.getToken()));
    ensure(ended.getSuccess() && ended.getStatus(), ended);
    refused(401, ErrorCode.UNAUTHORIZED, () -> sessionsOf(two.getToken()).getCurrent(null));
    refused(401, ErrorCode.UNAUTHORIZED, () -> sessionsOf(null).getCurrent(null));
    ApiClient open = new ApiClient();
    open.updateBaseUri(System.getenv("OPEN_ROOT"));
    var nothing = new SessionsApi(open).getCurrent(null);
    ensure(nothing == null, nothing);
  }

  static void profile() throws Exception {
    String ada = signIn(PASSWORD).getToken();
    UsersApi users = new UsersApi(holding(ada));
    Callable<String> image = () -> sessionsOf(ada).getCurrent(null).getUser().getImage();
    users.update(new UpdateUserRequest().image("https://example.com/ada.png"));
    users.update(new UpdateUserRequest().name("Countess"));
    ensure("https://example.com/ada.png".equals(image.call()), image.call());
    // Null is what is left out here; the empty text removes a picture, too.
    users.update(new UpdateUserRequest().image(""));
    ensure(image.call() == null, image.call());
    refused(400, ErrorCode.VALIDATION_ERROR, () -> users.update(new UpdateUserRequest().image("none")));
    var accounts = new AccountsApi(holding(ada)).listLinked();
    ensure(accounts.size() == 1 && accounts.get(0).getProvider().equals("credential"), accounts);
  }

  static void twoFactor() throws Exception {
    TwoFactorApi mine = new TwoFactorApi(holding(signIn(PASSWORD).getToken()));
    var enabled = mine.enable(new EnableTwoFactorRequest().password(PASSWORD));
    ensure(enabled.getBackupCodes().size() == 10, enabled);
    mine.verifyTotp(totp(enabled.getTotpURI()));
    SignInAnswer waiting = signIn(PASSWORD);
    ensure(waiting.getTwoFactorRedirect() && waiting.getPending() && waiting.getUser() == null, waiting);
    ensure(waiting.getTwoFactorMethods().equals(Set.of(TwoFactorMethod.TOTP, TwoFactorMethod.OTP)), waiting);
    TwoFactorApi pending = new TwoFactorApi(holding(waiting.getToken()));
    refused(401, ErrorCode.INVALID_CODE, () -> pending.verifyTotp(new VerifyTotpRequest().code("none")));
    String ada = pending.verifyTotp(totp(enabled.getTotpURI()).trustDevice(false)).getToken();
    ensure(sessionsOf(ada).getCurrent(null).getUser().getTwoFactorEnabled(), ada);
    ensure(new AuthenticationApi(holding(ada)).signOut().getSuccess(), ada);
    refused(401, ErrorCode.UNAUTHORIZED, () -> sessionsOf(ada).getCurrent(null));
  }

  public static void main(String[] arguments) throws Exception {
    signingUp();
    sessions();
    profile();
    twoFactor();
  }
}
