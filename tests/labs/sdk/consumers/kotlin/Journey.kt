/**
 * A program that uses the generated Kotlin SDK as its users do.
 *
 * Run beside two services that the environment names, the second of which requires no session; it prints nothing but
 * what goes wrong.
 */

import com.example.gatewright.apis.AccountsApi
import com.example.gatewright.apis.AuthenticationApi
import com.example.gatewright.apis.SessionsApi
import com.example.gatewright.apis.TwoFactorApi
import com.example.gatewright.apis.UsersApi
import com.example.gatewright.infrastructure.ClientError
import com.example.gatewright.infrastructure.ClientException
import com.example.gatewright.infrastructure.Serializer
import com.example.gatewright.infrastructure.Success
import com.example.gatewright.models.EnableTwoFactorRequest
import com.example.gatewright.models.Error as Refusal
import com.example.gatewright.models.ErrorCode
import com.example.gatewright.models.RevokeSessionRequest
import com.example.gatewright.models.SignInAnswer
import com.example.gatewright.models.SignInEmailRequest
import com.example.gatewright.models.SignUpRequest
import com.example.gatewright.models.TwoFactorMethod
import com.example.gatewright.models.UpdateUserRequest
import com.example.gatewright.models.VerifyTotpRequest
import java.nio.ByteBuffer
import java.time.Duration
import java.time.OffsetDateTime
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

const val PASSWORD = "correct horse battery"
const val ADA = "ada@example.com"

val root: String = System.getenv("SERVICE_ROOT")
val nobody = AuthenticationApi(root)

/** See that a request is refused in this way. */
fun refused(status: Int, code: ErrorCode, request: () -> Any?) {
    val refusal = try {
        throw AssertionError("not refused: ${request()}")
    } catch (refusal: ClientException) {
        refusal
    }
    val body = (refusal.response as ClientError<*>).body as String
    val error = checkNotNull(Serializer.moshi.adapter(Refusal::class.java).fromJson(body))
    check(refusal.statusCode == status && error.code == code) { "$refusal $error" }
    check(error.message.isNotEmpty())
}

fun sessionsOf(token: String?) = SessionsApi(root).apply { accessTokenProvider = { token } }

fun twoFactorOf(token: String) = TwoFactorApi(root).apply { accessTokenProvider = { token } }

fun signIn(password: String = PASSWORD): SignInAnswer =
    nobody.signInEmail(SignInEmailRequest(email = ADA, password = password, rememberMe = true))

/** The code of an authenticator at this time (RFC 6238), for the secret of an otpauth address. */
fun totp(uri: String): VerifyTotpRequest {
    val secret = uri.substringAfter("secret=").substringBefore("&")
    val bits = secret.map { "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(it).toString(2).padStart(5, '0') }.joinToString("")
    val key = bits.chunked(8).filter { it.length == 8 }.map { it.toInt(2).toByte() }.toByteArray()
    val mac = Mac.getInstance("HmacSHA1").apply { init(SecretKeySpec(key, "HmacSHA1")) }
    val digest = mac.doFinal(ByteBuffer.allocate(8).putLong(System.currentTimeMillis() / 30_000).array())
    val number = ByteBuffer.wrap(digest, digest[19].toInt() and 15, 4).int and Int.MAX_VALUE
    return VerifyTotpRequest(code = "%06d".format(number % 1_000_000))
}

fun signingUp() {
    val wanted = SignUpRequest(name = "Ada", email = ADA, password = PASSWORD)
    val made = nobody.signUpEmail(wanted)
    check(made.token?.length == 32 && made.user.image == null) { made }
    refused(422, ErrorCode.USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL) { nobody.signUpEmail(wanted) }
    refused(400, ErrorCode.VALIDATION_ERROR) { nobody.signUpEmail(wanted.copy(email = "none")) }
    refused(401, ErrorCode.INVALID_EMAIL_OR_PASSWORD) { signIn("wrong") }
}

fun sessions() {
    val (one, two, _) = listOf(signIn(), signIn(), signIn())
    check(one.user?.email == ADA && one.twoFactorRedirect == null) { one }
    val mine = sessionsOf(one.token)
    val found = mine.getCurrent()
    check(found.user.id == found.session.userId) { found }
    val listed = mine.listActive()
    check(listed.size == 4) { listed }
    check(listed.any { it.createdAt.nano > 0 }) { listed }
    check(Duration.between(listed[0].createdAt, OffsetDateTime.now()).abs() < Duration.ofHours(1)) { listed[0] }
    val ended = mine.revoke(RevokeSessionRequest(two.token))
    check(ended.success && ended.status) { ended }
    refused(401, ErrorCode.UNAUTHORIZED) { sessionsOf(two.token).getCurrent() }
    refused(401, ErrorCode.UNAUTHORIZED) { sessionsOf(null).getCurrent() }
    // Where no session is required, the answer is null, which only this form of the request can say.
    val nothing = SessionsApi(System.getenv("OPEN_ROOT")).getCurrentWithHttpInfo(null)
    check((nothing as Success<*>).data == null) { nothing }
}

fun profile() {
    val ada = signIn().token
    val users = UsersApi(root).apply { accessTokenProvider = { ada } }
    val image = { sessionsOf(ada).getCurrent().user.image }
    users.update(UpdateUserRequest(image = "https://example.com/ada.png"))
    users.update(UpdateUserRequest(name = "Countess"))
    check(image() == "https://example.com/ada.png") { "${image()}" }
    // Null is what is left out here; the empty text removes a picture, too.
    users.update(UpdateUserRequest(image = ""))
    check(image() == null) { "${image()}" }
    refused(400, ErrorCode.VALIDATION_ERROR) { users.update(UpdateUserRequest(image = "none")) }
    val accounts = AccountsApi(root).apply { accessTokenProvider = { ada } }.listLinked()
    check(accounts.map { it.provider } == listOf("credential")) { accounts }
}

fun twoFactor() {
    val mine = twoFactorOf(signIn().token)
    val enabled = mine.enable(EnableTwoFactorRequest(PASSWORD))
    check(enabled.backupCodes.size == 10) { enabled }
    val uri = checkNotNull(enabled.totpURI)
    mine.verifyTotp(totp(uri))
    val waiting = signIn()
    check(waiting.twoFactorRedirect == true && waiting.pending == true && waiting.user == null) { waiting }
    check(waiting.twoFactorMethods == setOf(TwoFactorMethod.totp, TwoFactorMethod.otp)) { waiting }
    val pending = twoFactorOf(waiting.token)
    refused(401, ErrorCode.INVALID_CODE) { pending.verifyTotp(VerifyTotpRequest("none")) }
    val ada = pending.verifyTotp(totp(uri).copy(trustDevice = false)).token
    check(sessionsOf(ada).getCurrent().user.twoFactorEnabled)
    check(AuthenticationApi(root).apply { accessTokenProvider = { ada } }.signOut().success)
    refused(401, ErrorCode.UNAUTHORIZED) { sessionsOf(ada).getCurrent() }
}

fun main() {
    signingUp()
    sessions()
    profile()
    twoFactor()
}
