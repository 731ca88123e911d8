# A program that uses the generated Ruby SDK as its users do.
#
# Run with the SDK's lib on the load path, beside two services that the environment names, the second of which requires
# no session; it prints nothing but what goes wrong. Typhoeus is a gem, or Debian's ruby-typhoeus.

require 'gatewright_client'
require 'openssl'
require 'uri'

PASSWORD = 'correct horse battery'
ADA = 'ada@example.com'

# See that something is so; otherwise the journey ends.
def ensure_that(is_so, seen = nil)
  raise "not as expected: #{seen.inspect}" unless is_so
end

# Give one of the SDK's classes, of which each is a tag of the contract; for nobody, a session, or a pending sign-in.
def api(tag, token = nil, root = 'SERVICE_ROOT')
  configuration = Gatewright::Configuration.new
  address = URI(ENV.fetch(root))
  configuration.scheme = address.scheme
  configuration.host = "#{address.host}:#{address.port}"
  configuration.access_token = token
  tag.new(Gatewright::ApiClient.new(configuration))
end

# See that a request is refused in this way.
def refused(status, code)
  answer = yield
  raise "not refused: #{answer.inspect}"
rescue Gatewright::ApiError => e
  error = Gatewright::Error.build_from_hash(JSON.parse(e.response_body))
  ensure_that([e.code, error.code] == [status, code], error)
  ensure_that(!error.message.empty?, error)
end

def sign_in(password = PASSWORD)
  wanted = Gatewright::SignInEmailRequest.new(email: ADA, password: password, remember_me: true)
  api(Gatewright::AuthenticationApi).sign_in_email(wanted)
end

# The code of an authenticator at this time (RFC 6238), for the secret of an otpauth address.
def totp(uri)
  secret = URI.decode_www_form(URI(uri).query).to_h.fetch('secret')
  bits = secret.chars.map { |letter| format('%05b', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.index(letter)) }.join
  key = [bits[0, bits.length / 8 * 8]].pack('B*')
  digest = OpenSSL::HMAC.digest('SHA1', key, [Time.now.to_i / 30].pack('Q>'))
  number = digest[digest[19].ord & 15, 4].unpack1('N') & 0x7fffffff
  format('%06d', number % 1_000_000)
end

def signing_up
  wanted = Gatewright::SignUpRequest.new(name: 'Ada', email: ADA, password: PASSWORD)
  authentication = api(Gatewright::AuthenticationApi)
  made = authentication.sign_up_email(wanted)
  ensure_that(made.token.length == 32, made)
  ensure_that(made.user.image.nil?, made)
  refused(422, Gatewright::ErrorCode::USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL) { authentication.sign_up_email(wanted) }
  wanted.email = 'none'
  refused(400, Gatewright::ErrorCode::VALIDATION_ERROR) { authentication.sign_up_email(wanted) }
  refused(401, Gatewright::ErrorCode::INVALID_EMAIL_OR_PASSWORD) { sign_in('wrong') }
end

def sessions
  one, two, = [sign_in, sign_in, sign_in]
  ensure_that(one.user.email == ADA && one.two_factor_redirect.nil?, one)
  mine = api(Gatewright::SessionsApi, one.token)
  found = mine.get_current
  ensure_that(found.user.id == found.session.user_id, found)
  listed = mine.list_active
  ensure_that(listed.length == 4, listed)
  ensure_that(listed.any? { |session| session.created_at.usec.positive? }, listed)
  ensure_that((listed[0].created_at - Time.now).abs < 3600, listed[0])
  ended = mine.revoke(Gatewright::RevokeSessionRequest.new(token: two.token))
  ensure_that(ended.success && ended.status, ended)
  refused(401, Gatewright::ErrorCode::UNAUTHORIZED) { api(Gatewright::SessionsApi, two.token).get_current }
  refused(401, Gatewright::ErrorCode::UNAUTHORIZED) { api(Gatewright::SessionsApi).get_current }
  nothing = api(Gatewright::SessionsApi, nil, 'OPEN_ROOT').get_current
  ensure_that(nothing.nil?, nothing)
end

def profile
  ada = sign_in.token
  users = api(Gatewright::UsersApi, ada)
  image = -> { api(Gatewright::SessionsApi, ada).get_current.user.image }
  change = ->(fields) { users.update(Gatewright::UpdateUserRequest.new(fields)) }
  change.call(image: 'https://example.com/ada.png')
  change.call(name: 'Countess')
  ensure_that(image.call == 'https://example.com/ada.png', image.call)
  change.call(image: nil)
  ensure_that(image.call.nil?, image.call)
  refused(400, Gatewright::ErrorCode::VALIDATION_ERROR) { change.call(image: 'none') }
  accounts = api(Gatewright::AccountsApi, ada).list_linked
  ensure_that(accounts.map(&:provider) == ['credential'], accounts)
end

def two_factor
  mine = api(Gatewright::TwoFactorApi, sign_in.token)
  enabled = mine.enable(Gatewright::EnableTwoFactorRequest.new(password: PASSWORD))
  ensure_that(enabled.backup_codes.length == 10, enabled)
  mine.verify_totp(Gatewright::VerifyTotpRequest.new(code: totp(enabled.totp_uri)))
  waiting = sign_in
  ensure_that(waiting.two_factor_redirect && waiting.pending && waiting.user.nil?, waiting)
  methods = [Gatewright::TwoFactorMethod::TOTP, Gatewright::TwoFactorMethod::OTP]
  ensure_that(waiting.two_factor_methods == methods, waiting)
  pending = api(Gatewright::TwoFactorApi, waiting.token)
  wrong = Gatewright::VerifyTotpRequest.new(code: 'none')
  refused(401, Gatewright::ErrorCode::INVALID_CODE) { pending.verify_totp(wrong) }
  code = Gatewright::VerifyTotpRequest.new(code: totp(enabled.totp_uri), trust_device: false)
  ada = pending.verify_totp(code).token
  ensure_that(api(Gatewright::SessionsApi, ada).get_current.user.two_factor_enabled)
  ensure_that(api(Gatewright::AuthenticationApi, ada).sign_out.success)
  refused(401, Gatewright::ErrorCode::UNAUTHORIZED) { api(Gatewright::SessionsApi, ada).get_current }
end

signing_up
sessions
profile
two_factor
