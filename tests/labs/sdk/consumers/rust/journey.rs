//! A program that uses the generated Rust SDK as its users do.
//!
//! Run beside two services that the environment names, the second of which requires no session; it prints nothing but
//! what goes wrong.

use std::fmt::Debug;

use gatewright_client::apis::accounts_api::list_linked;
use gatewright_client::apis::authentication_api::{sign_in_email, sign_out, sign_up_email, SignInEmailError};
use gatewright_client::apis::configuration::Configuration;
use gatewright_client::apis::sessions_api::{get_current, list_active, revoke};
use gatewright_client::apis::two_factor_api::{enable, verify_totp};
use gatewright_client::apis::users_api::update;
use gatewright_client::apis::Error;
use gatewright_client::models::{
    EnableTwoFactorRequest, ErrorCode, RevokeSessionRequest, SignInAnswer, SignInEmailRequest, SignUpRequest,
    TwoFactorMethod, UpdateUserRequest, VerifyTotpRequest,
};
use hmac::{Hmac, Mac};
use sha1::Sha1;

const PASSWORD: &str = "correct horse battery";
const ADA: &str = "ada@example.com";

/// Give the configuration of nobody, of a session, or of a pending sign-in.
fn holding(token: Option<&str>) -> Configuration {
    Configuration {
        base_path: std::env::var("SERVICE_ROOT").unwrap(),
        bearer_access_token: token.map(str::to_owned),
        ..Configuration::default()
    }
}

/// See that an answer is a refusal of this kind: its status and code, and words for people.
fn refused<Answer: Debug, Kind: Debug>(status: u16, code: ErrorCode, answer: Result<Answer, Error<Kind>>) {
    match answer {
        Err(Error::ResponseError(refusal)) => {
            let shown = format!("{:?}", refusal.entity);
            assert_eq!(refusal.status.as_u16(), status, "{shown}");
            assert!(shown.contains(&format!("code: {code:?}")), "{shown}");
            assert!(!shown.contains("message: \"\""), "{shown}");
        }
        other => panic!("not refused: {other:?}"),
    }
}

async fn sign_in() -> SignInAnswer {
    let mut wanted = SignInEmailRequest::new(ADA.to_owned(), PASSWORD.to_owned());
    wanted.remember_me = Some(true);
    sign_in_email(&holding(None), wanted).await.unwrap()
}

/// The code of an authenticator at this time (RFC 6238), for the secret of an otpauth address.
fn totp(uri: &str) -> VerifyTotpRequest {
    let secret = uri.split(['?', '&']).find_map(|part| part.strip_prefix("secret=")).unwrap();
    let values = secret.bytes().map(|letter| if letter < b'A' { letter - b'2' + 26 } else { letter - b'A' });
    let (mut key, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for value in values {
        (held, bits) = (held << 5 | u32::from(value), bits + 5);
        if bits >= 8 {
            bits -= 8;
            key.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    let mut mac = Hmac::<Sha1>::new_from_slice(&key).unwrap();
    mac.update(&(chrono::Utc::now().timestamp() as u64 / 30).to_be_bytes());
    let digest = mac.finalize().into_bytes();
    let at = usize::from(digest[19] & 15);
    let number = u32::from_be_bytes(digest[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    VerifyTotpRequest::new(format!("{:06}", number % 1_000_000))
}

async fn signing_up() {
    let nobody = holding(None);
    let wanted = SignUpRequest::new("Ada".to_owned(), ADA.to_owned(), PASSWORD.to_owned());
    let made = sign_up_email(&nobody, wanted.clone()).await.unwrap();
    assert_eq!(made.token.unwrap().len(), 32);
    assert_eq!(made.user.image, None);
    let again = sign_up_email(&nobody, wanted.clone()).await;
    refused(422, ErrorCode::UserAlreadyExistsUseAnotherEmail, again);
    let bad = SignUpRequest { email: "none".to_owned(), ..wanted };
    refused(400, ErrorCode::ValidationError, sign_up_email(&nobody, bad).await);

    let wrong = SignInEmailRequest::new(ADA.to_owned(), "wrong".to_owned());
    let Err(Error::ResponseError(refusal)) = sign_in_email(&nobody, wrong).await else { panic!() };
    let Some(SignInEmailError::DefaultResponse(error)) = refusal.entity else { panic!("{}", refusal.content) };
    assert_eq!((refusal.status.as_u16(), error.code), (401, ErrorCode::InvalidEmailOrPassword));
    assert!(!error.message.is_empty());
}

async fn sessions() {
    let (one, two, _) = (sign_in().await, sign_in().await, sign_in().await);
    assert_eq!(one.user.unwrap().email, ADA);
    assert_eq!(one.two_factor_redirect, None);
    let ada = holding(Some(&one.token));
    let found = get_current(&ada, None).await.unwrap();
    assert_eq!(found.user.id, found.session.user_id);
    let listed = list_active(&ada).await.unwrap();
    assert_eq!(listed.len(), 4);
    assert!(listed.iter().any(|session| session.created_at.timestamp_subsec_millis() > 0));
    assert!((listed[0].created_at.timestamp() - chrono::Utc::now().timestamp()).abs() < 3600);
    let ended = revoke(&ada, RevokeSessionRequest::new(two.token.clone())).await.unwrap();
    assert!(ended.success && ended.status);
    refused(401, ErrorCode::Unauthorized, get_current(&holding(Some(&two.token)), None).await);
    refused(401, ErrorCode::Unauthorized, get_current(&holding(None), None).await);
    // Where no session is required, the answer is null: this client calls that an error of reading it.
    let open = Configuration { base_path: std::env::var("OPEN_ROOT").unwrap(), ..holding(None) };
    assert!(matches!(get_current(&open, None).await, Err(Error::Serde(_))));
}

async fn profile() {
    let ada = holding(Some(&sign_in().await.token));
    let image = || async { get_current(&ada, None).await.unwrap().user.image };
    let picture = "https://example.com/ada.png".to_owned();
    let change = |fields| update(&ada, fields);
    change(UpdateUserRequest { image: Some(Some(picture.clone())), ..Default::default() }).await.unwrap();
    change(UpdateUserRequest { name: Some("Countess".to_owned()), ..Default::default() }).await.unwrap();
    assert_eq!(image().await, Some(picture));
    change(UpdateUserRequest { image: Some(None), ..Default::default() }).await.unwrap();
    assert_eq!(image().await, None);
    let bad = UpdateUserRequest { image: Some(Some("none".to_owned())), ..Default::default() };
    refused(400, ErrorCode::ValidationError, change(bad).await);
    let accounts = list_linked(&ada).await.unwrap();
    assert_eq!(accounts.iter().map(|account| account.provider.as_str()).collect::<Vec<_>>(), ["credential"]);
}

async fn two_factor() {
    let mine = holding(Some(&sign_in().await.token));
    let enabled = enable(&mine, EnableTwoFactorRequest::new(PASSWORD.to_owned())).await.unwrap();
    assert_eq!(enabled.backup_codes.len(), 10);
    let uri = enabled.totp_uri.unwrap();
    verify_totp(&mine, totp(&uri)).await.unwrap();
    let waiting = sign_in().await;
    assert_eq!((waiting.two_factor_redirect, waiting.pending, waiting.user), (Some(true), Some(true), None));
    assert_eq!(waiting.two_factor_methods.unwrap(), [TwoFactorMethod::Totp, TwoFactorMethod::Otp]);
    let pending = holding(Some(&waiting.token));
    let wrong = VerifyTotpRequest::new("none".to_owned());
    refused(401, ErrorCode::InvalidCode, verify_totp(&pending, wrong).await);
    let code = VerifyTotpRequest { trust_device: Some(false), ..totp(&uri) };
    let ada = holding(Some(&verify_totp(&pending, code).await.unwrap().token));
    assert!(get_current(&ada, None).await.unwrap().user.two_factor_enabled);
    assert!(sign_out(&ada).await.unwrap().success);
    refused(401, ErrorCode::Unauthorized, get_current(&ada, None).await);
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    signing_up().await;
    sessions().await;
    profile().await;
    two_factor().await;
}
