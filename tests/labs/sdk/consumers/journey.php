<?php

/**
 * A program that uses the generated PHP SDK as its users do.
 *
 * Run beside two services that the environment names, the second of which requires no session; it prints nothing but
 * what goes wrong. Guzzle is found on the include path, as Debian's php-guzzlehttp-guzzle puts it there.
 */

declare(strict_types=1);

use Gatewright\Client\Api\AccountsApi;
use Gatewright\Client\Api\AuthenticationApi;
use Gatewright\Client\Api\SessionsApi;
use Gatewright\Client\Api\TwoFactorApi;
use Gatewright\Client\Api\UsersApi;
use Gatewright\Client\ApiException;
use Gatewright\Client\Configuration;
use Gatewright\Client\Model\EnableTwoFactorRequest;
use Gatewright\Client\Model\Error as Refusal;
use Gatewright\Client\Model\ErrorCode;
use Gatewright\Client\Model\RevokeSessionRequest;
use Gatewright\Client\Model\SignInAnswer;
use Gatewright\Client\Model\SignInEmailRequest;
use Gatewright\Client\Model\SignUpRequest;
use Gatewright\Client\Model\TwoFactorMethod;
use Gatewright\Client\Model\UpdateUserRequest;
use Gatewright\Client\Model\VerifyTotpRequest;
use GuzzleHttp\Client;

require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = getenv('SDK') . '/lib/' . str_replace(['Gatewright\\Client\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
set_error_handler(function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

const PASSWORD = 'correct horse battery';
const ADA = 'ada@example.com';

/** See that something is so; otherwise the journey ends. */
function ensure(bool $is_so, mixed $seen = null): void
{
    if (!$is_so) {
        throw new LogicException('not as expected: ' . var_export($seen, true));
    }
}

/** Give the configuration of nobody, of a session, or of a pending sign-in. */
function holding(?string $token = null, string $root = 'SERVICE_ROOT'): Configuration
{
    $configuration = (new Configuration())->setHost(getenv($root));
    return $token === null ? $configuration : $configuration->setAccessToken($token);
}

/** Give one of the SDK's classes, of which each is a tag of the contract. */
function api(string $class, Configuration $of): object
{
    return new $class(new Client(), $of);
}

/** See that a request is refused in this way. */
function refused(int $status, string $code, callable $request): void
{
    try {
        $answer = $request();
    } catch (ApiException $refusal) {
        $error = $refusal->getResponseObject();
        ensure($error instanceof Refusal, $refusal->getMessage());
        ensure([$refusal->getCode(), $error->getCode()] === [$status, $code], $error);
        ensure($error->getMessage() !== '', $error);
        return;
    }
    throw new LogicException('not refused: ' . var_export($answer, true));
}

function signIn(string $password = PASSWORD): SignInAnswer
{
    $wanted = new SignInEmailRequest(['email' => ADA, 'password' => $password, 'rememberMe' => true]);
    return api(AuthenticationApi::class, holding())->signInEmail($wanted);
}

/** The code of an authenticator at this time (RFC 6238), for the secret of an otpauth address. */
function totp(string $uri): string
{
    parse_str(parse_url($uri, PHP_URL_QUERY), $parameters);
    $bits = '';
    foreach (str_split($parameters['secret']) as $letter) {
        $value = strpos('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', $letter);
        $bits .= str_pad(decbin($value), 5, '0', STR_PAD_LEFT);
    }
    $secret = implode('', array_map(fn ($byte) => chr(bindec($byte)), array_filter(str_split($bits, 8), fn ($byte) => strlen($byte) === 8)));
    $digest = hash_hmac('sha1', pack('J', intdiv(time(), 30)), $secret, true);
    $number = unpack('N', substr($digest, ord($digest[19]) & 15, 4))[1] & 0x7fffffff;
    return str_pad((string) ($number % 1000000), 6, '0', STR_PAD_LEFT);
}

function signingUp(): void
{
    $wanted = new SignUpRequest(['name' => 'Ada', 'email' => ADA, 'password' => PASSWORD]);
    $authentication = api(AuthenticationApi::class, holding());
    $made = $authentication->signUpEmail($wanted);
    ensure(strlen($made->getToken()) === 32, $made);
    ensure($made->getUser()->getImage() === null, $made);
    refused(422, ErrorCode::USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL, fn () => $authentication->signUpEmail($wanted));
    refused(400, ErrorCode::VALIDATION_ERROR, fn () => $authentication->signUpEmail($wanted->setEmail('none')));
    refused(401, ErrorCode::INVALID_EMAIL_OR_PASSWORD, fn () => signIn('wrong'));
}

function sessions(): void
{
    $answers = [signIn(), signIn(), signIn()];
    [$one, $two] = $answers;
    ensure($one->getUser()->getEmail() === ADA && $one->getTwoFactorRedirect() === null, $one);
    $sessions = api(SessionsApi::class, holding($one->getToken()));
    $found = $sessions->getCurrent();
    ensure($found->getUser()->getId() === $found->getSession()->getUserId(), $found);
    $listed = $sessions->listActive();
    ensure(count($listed) === 4, $listed);
    $fractions = array_map(fn ($session) => $session->getCreatedAt()->format('v'), $listed);
    ensure(array_unique($fractions) !== ['000'], $fractions);
    ensure(abs($listed[0]->getCreatedAt()->getTimestamp() - time()) < 3600, $listed[0]);
    $ended = $sessions->revoke(new RevokeSessionRequest(['token' => $two->getToken()]));
    ensure($ended->getSuccess() && $ended->getStatus(), $ended);
    refused(401, ErrorCode::UNAUTHORIZED, api(SessionsApi::class, holding($two->getToken()))->getCurrent(...));
    refused(401, ErrorCode::UNAUTHORIZED, api(SessionsApi::class, holding())->getCurrent(...));
    ensure(api(SessionsApi::class, holding(root: 'OPEN_ROOT'))->getCurrent() === null);
}

function profile(): void
{
    $ada = holding(signIn()->getToken());
    $users = api(UsersApi::class, $ada);
    $image = fn () => api(SessionsApi::class, $ada)->getCurrent()->getUser()->getImage();
    $users->update(new UpdateUserRequest(['image' => 'https://example.com/ada.png']));
    $users->update(new UpdateUserRequest(['name' => 'Countess']));
    ensure($image() === 'https://example.com/ada.png', $image());
    $users->update(new UpdateUserRequest(['image' => null]));
    ensure($image() === null, $image());
    refused(400, ErrorCode::VALIDATION_ERROR, fn () => $users->update(new UpdateUserRequest(['image' => 'none'])));
    $accounts = api(AccountsApi::class, $ada)->listLinked();
    ensure($accounts[0]->getProvider() === 'credential' && count($accounts) === 1, $accounts);
}

function twoFactor(): void
{
    $mine = api(TwoFactorApi::class, holding(signIn()->getToken()));
    $enabled = $mine->enable(new EnableTwoFactorRequest(['password' => PASSWORD]));
    ensure(count($enabled->getBackupCodes()) === 10, $enabled);
    $mine->verifyTotp(new VerifyTotpRequest(['code' => totp($enabled->getTotpUri())]));
    $waiting = signIn();
    ensure($waiting->getTwoFactorRedirect() && $waiting->getPending() && $waiting->getUser() === null, $waiting);
    ensure($waiting->getTwoFactorMethods() === [TwoFactorMethod::TOTP, TwoFactorMethod::OTP], $waiting);
    $pending = api(TwoFactorApi::class, holding($waiting->getToken()));
    refused(401, ErrorCode::INVALID_CODE, fn () => $pending->verifyTotp(new VerifyTotpRequest(['code' => 'none'])));
    $code = new VerifyTotpRequest(['code' => totp($enabled->getTotpUri()), 'trustDevice' => false]);
    $ada = holding($pending->verifyTotp($code)->getToken());
    ensure(api(SessionsApi::class, $ada)->getCurrent()->getUser()->getTwoFactorEnabled());
    ensure(api(AuthenticationApi::class, $ada)->signOut()->getSuccess());
    refused(401, ErrorCode::UNAUTHORIZED, api(SessionsApi::class, $ada)->getCurrent(...));
}

signingUp();
sessions();
profile();
twoFactor();
