import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { freePort } from "../../support/free-port.ts";

/** What the issuer says at its token endpoint, and who signs it. */
export interface Script {
  claims?: (usual: JWTPayload) => JWTPayload;
  userInfo?: object;
  signedBy?: "issuer" | "stranger" | "nobody";
  /** Instead of a code. */
  refuses?: string;
  /** What the token endpoint answers instead of tokens. */
  tokenError?: { readonly status: number; readonly error: string; readonly challenge?: string };
}

export const clientId = "sluice";
export const clientSecret = "a-secret-of-the-tests";

/** An identity provider that says what a test tells it to say, right or wrong. */
export async function startIssuer(metadata: (url: string) => object = () => ({})) {
  const own = await generateKeyPair("RS256", { extractable: true });
  const stranger = await generateKeyPair("RS256");
  const nonces = new Map<string, string>();
  let script: Script = {};
  let discoveries = 0;
  let spent = new Set<string>();
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = Bun.serve({
    port,
    hostname: "127.0.0.1",
    routes: {
      "/.well-known/openid-configuration": () => {
        discoveries += 1;
        return Response.json({
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          userinfo_endpoint: `${url}/userinfo`,
          jwks_uri: `${url}/jwks`,
          response_types_supported: ["code"],
          id_token_signing_alg_values_supported: ["RS256"],
          subject_types_supported: ["public"],
          ...metadata(url),
        });
      },
      "/jwks": async () =>
        Response.json({
          keys: [{ ...(await exportJWK(own.publicKey)), kid: "one", alg: "RS256", use: "sig" }],
        }),
      // Signs in every visitor without asking.
      "/authorize": (request) => {
        const query = new URL(request.url).searchParams;
        const code = crypto.randomUUID();
        nonces.set(code, query.get("nonce") ?? "");
        const back = new URL(query.get("redirect_uri") ?? "");
        if (script.refuses === undefined) back.searchParams.set("code", code);
        else back.searchParams.set("error", script.refuses);
        back.searchParams.set("state", query.get("state") ?? "");
        return Response.redirect(back.href, 302);
      },
      "/token": async (request) => {
        const { tokenError } = script;
        if (tokenError !== undefined) {
          const { challenge, status, error } = tokenError;
          const headers = challenge === undefined ? {} : { "www-authenticate": challenge };
          return Response.json({ error }, { status, headers });
        }
        const code = new URLSearchParams(await request.text()).get("code") ?? "";
        const nonce = nonces.get(code);
        if (nonce === undefined || spent.has(code)) {
          return Response.json({ error: "invalid_grant" }, { status: 400 });
        }
        spent.add(code);
        return Response.json({ access_token: "at", token_type: "Bearer", id_token: await idToken(nonce) });
      },
      "/userinfo": () => Response.json({ sub: "ada", ...script.userInfo }),
    },
  });

  async function idToken(nonce: string): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: url, aud: clientId, sub: "ada", nonce, iat: now, exp: now + 60 };
    const verified = { email: "ada@example.com", email_verified: true };
    const claims = script.claims?.({ ...usual, ...verified }) ?? { ...usual, ...verified };
    if (script.signedBy === "nobody") {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${part({ alg: "none" })}.${part(claims)}.`;
    }
    const { privateKey } = script.signedBy === "stranger" ? stranger : own;
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey);
  }

  return {
    url,
    /** How often its addresses were asked for. */
    get discoveries() {
      return discoveries;
    },
    /** A signed logout token. */
    logoutToken: (claims: Record<string, unknown>, signedBy: "issuer" | "stranger" = "issuer") => {
      const now = Math.floor(Date.now() / 1000);
      const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
      const usual = { iss: url, aud: clientId, iat: now, exp: now + 60, jti: crypto.randomUUID(), events };
      const { privateKey } = signedBy === "stranger" ? stranger : own;
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "one", typ: "logout+jwt" })
        .sign(privateKey);
    },
    says: (next: Script) => {
      script = next;
      spent = new Set();
    },
    stop: () => server.stop(true),
  };
}
