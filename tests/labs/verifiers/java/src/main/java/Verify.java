import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.Ed25519Verifier;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.KeyType;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.List;
import java.util.Set;

/** Verify tokens by Nimbus JOSE+JWT, with nothing but the address of the keys. */
public class Verify {
  public static void main(String[] arguments) throws Exception {
    JWKSource<SecurityContext> keys =
        JWKSourceBuilder.create(URI.create(System.getenv("JWKS_URL")).toURL()).rateLimited(false).build();
    DefaultJOSEObjectTypeVerifier<SecurityContext> types =
        new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("JWT"));
    DefaultJWTClaimsVerifier<SecurityContext> claims = new DefaultJWTClaimsVerifier<>(
        System.getenv("AUDIENCE"),
        new JWTClaimsSet.Builder().issuer(System.getenv("ISSUER")).build(),
        Set.of("sub", "exp"));
    claims.setMaxClockSkew(60);
    DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
    processor.setJWSTypeVerifier(types);
    processor.setJWSKeySelector(
        new JWSVerificationKeySelector<>(Set.of(JWSAlgorithm.ES256, JWSAlgorithm.RS256), keys));
    processor.setJWTClaimsSetVerifier(claims);

    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      try {
        SignedJWT token = SignedJWT.parse(line.trim());
        JWTClaimsSet found;
        if (token.getHeader().getAlgorithm().equals(JWSAlgorithm.EdDSA)) {
          // The processor knows no Ed25519; its verifier is used directly.
          types.verify(token.getHeader().getType(), null);
          JWKMatcher matcher = new JWKMatcher.Builder()
              .keyID(token.getHeader().getKeyID()).keyType(KeyType.OKP).algorithm(JWSAlgorithm.EdDSA).build();
          List<JWK> matching = keys.get(new JWKSelector(matcher), null);
          JWSVerifier verifier = new Ed25519Verifier(matching.get(0).toOctetKeyPair());
          if (!token.verify(verifier)) {
            throw new SecurityException("signature");
          }
          found = token.getJWTClaimsSet();
          claims.verify(found, null);
        } else {
          found = processor.process(token, null);
        }
        System.out.println("ok " + found.getSubject());
      } catch (Exception error) {
        System.out.println("refused " + error.getClass().getSimpleName());
      }
    }
  }
}
