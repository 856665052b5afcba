import type { JWTVerifyGetKey } from "jose";
import type { Configuration, CustomFetch, IDToken } from "openid-client";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { abortAfter } from "../../../base/loop/deadline.ts";
import type { OidcSettings } from "../../../config/settings.ts";
import { collectResponse } from "../../../wire/collect.ts";
import { sendOnce } from "../../../wire/send-once.ts";
import { type Person, unseen } from "../../access/person.ts";
import type { ProviderSession } from "../../access/sessions.ts";
import type { SignInAttempt } from "./attempt.ts";
import { homeOf } from "./error-page.ts";
import { callbackFailure, causeText, discoveryFailure, SignInRejected } from "./failures.ts";
import { type LogoutToken, signingKeys, verifyLogoutToken } from "./logout-token.ts";

const timeoutMs = 10_000;
/** The headers that the OpenID client reads. */
const readHeaders = ["content-type", "www-authenticate", "dpop-nonce"];

/** A `fetch` for the OpenID client with its own connection: clients' uploads can use up all slots of the built-in one. */
const fetchFromIssuer: CustomFetch = async (url, { method, headers, body, signal }) => {
  const sent = body === undefined || body === null ? null : await new Response(body).text();
  const request = { method, headers: { ...headers, "accept-encoding": "identity" }, body: sent };
  const answer = await collectResponse(
    (receiver) => sendOnce(new URL(url), request, receiver),
    signal ?? abortAfter(timeoutMs),
  );
  const received = new Headers();
  for (const name of readHeaders) {
    const value = answer.head.get(name);
    if (value !== null) received.set(name, value);
  }
  return new Response(answer.text === "" ? null : answer.text, { status: answer.status, headers: received });
};

const timeoutSeconds = 10;
/** How long the issuer's keys and endpoints are cached. */
const knownForMs = 3_600_000;

/** The longest ID token that is put into an address; browsers and providers accept 8 KB in all. */
const maxHintLength = 4096;

export interface SignedIn {
  readonly person: Person;
  readonly provider: ProviderSession;
  /** Whether the provider lets people choose another account at sign-in. Keycloak does not. */
  readonly offersAccounts: boolean;
}

interface KnownIssuer {
  readonly settings: OidcSettings;
  readonly config: Configuration;
  /** The keys that its logout tokens are signed with. */
  readonly keys: JWTVerifyGetKey;
  readonly atMs: number;
}

/** Signs people in with OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export class OidcSignIn {
  #known: KnownIssuer | null = null;
  #asking: { readonly settings: OidcSettings; readonly answer: Promise<KnownIssuer> } | null = null;

  /**
   * The address to redirect the browser to, and the values that its return must match. `choosesAccount`: the provider
   * shows its accounts, also to people who are signed in there.
   */
  async begin(settings: OidcSettings, redirectUri: string, choosesAccount = false) {
    const client = await import("openid-client");
    const { config } = await this.#discover(settings);
    const [state, nonce, verifier] = [
      client.randomState(),
      client.randomNonce(),
      client.randomPKCECodeVerifier(),
    ];
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: settings.scope,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(choosesAccount ? { prompt: "select_account" } : {}),
    });
    return { url, state, nonce, verifier };
  }

  /** `callback` is the full URL to which the browser returned. */
  async finish(settings: OidcSettings, callback: URL, attempt: SignInAttempt): Promise<SignedIn> {
    const client = await import("openid-client");
    const { config } = await this.#discover(settings);
    const tokens = await client
      .authorizationCodeGrant(config, callback, {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.verifier,
        idTokenExpected: true,
      })
      .catch((error: unknown) => {
        throw callbackFailure(error);
      });
    const claims = tokens.claims();
    if (claims === undefined)
      throw new SignInRejected(
        401,
        "The identity provider returned no user information. Ask the operator to check the scopes.",
      );
    const { userClaim, groupsClaim } = settings;
    const needed = [userClaim, groupsClaim, ...(userClaim === "email" ? ["email_verified"] : [])];
    const isComplete = needed.every((name) => claims[name] !== undefined);
    const more = isComplete ? {} : await userInfo(client, config, tokens.access_token, claims);
    const { sub: subject, sid } = claims;
    return {
      person: personIn(mergeClaims(claims, more), settings),
      provider: {
        issuer: settings.issuer,
        subject,
        sid: typeof sid === "string" ? sid : null,
        signOutUrl: signOutUrl(config, settings, attempt, tokens.id_token),
      },
      offersAccounts: offersAccounts(config),
    };
  }

  /** Throws unless the identity provider signed this logout token for this gateway within the last minutes. */
  async readLogoutToken(settings: OidcSettings, token: string, nowMs: number): Promise<LogoutToken> {
    const { config, keys } = await this.#discover(settings);
    const { issuer } = config.serverMetadata();
    return verifyLogoutToken(token, keys, { issuer, clientId: settings.clientId }, nowMs);
  }

  /** Why sign-ins fail before a person gets to the provider, in a sentence; null if the provider can be discovered. */
  async findProblem(settings: OidcSettings): Promise<string | null> {
    try {
      await this.#discover(settings);
      return null;
    } catch (error) {
      if (!(error instanceof SignInRejected)) throw error;
      return `${error.message} ${causeText(error.cause)}`;
    }
  }

  /** Discovers the issuer once at a time: while it hangs, all sign-ins wait for the same response. */
  #discover(settings: OidcSettings): Promise<KnownIssuer> {
    const known = this.#known;
    if (known?.settings === settings && known.atMs + knownForMs > performance.now())
      return Promise.resolve(known);
    if (this.#asking?.settings === settings) return this.#asking.answer;
    const answer = this.#ask(settings).finally(() => {
      if (this.#asking?.answer === answer) this.#asking = null;
    });
    this.#asking = { settings, answer };
    return answer;
  }

  async #ask(settings: OidcSettings): Promise<KnownIssuer> {
    const client = await import("openid-client");
    const issuer = new URL(settings.issuer);
    // The signature of a token that came straight from the issuer would not be checked by default.
    const checks = [client.enableNonRepudiationChecks];
    if (issuer.protocol === "http:") checks.push(client.allowInsecureRequests);
    const auth = client.ClientSecretBasic(settings.clientSecret);
    try {
      const config = await client.discovery(issuer, settings.clientId, settings.clientSecret, auth, {
        execute: checks,
        timeout: timeoutSeconds,
        [client.customFetch]: fetchFromIssuer,
      });
      const keys = signingKeys(config.serverMetadata().jwks_uri ?? "", (url) =>
        fetchFromIssuer(url, { method: "GET", headers: {}, body: undefined, redirect: "manual" }),
      );
      const known = { settings, config, keys, atMs: performance.now() };
      this.#known = known;
      return known;
    } catch (error) {
      throw discoveryFailure(error, settings.issuer);
    }
  }
}

/** The provider's sign-out page, which leads back to where the person signed in; null if it has none. */
function signOutUrl(
  config: Configuration,
  { issuer, clientId }: OidcSettings,
  { redirectUri, returnTo }: SignInAttempt,
  idToken: string | undefined,
): string | null {
  const url = URL.parse(config.serverMetadata().end_session_endpoint ?? "");
  // The browser is sent there, so it must be a page that is as safe as the issuer.
  if (url === null || (url.protocol !== "https:" && url.protocol !== new URL(issuer).protocol)) return null;
  url.searchParams.set("client_id", clientId);
  if (idToken !== undefined && idToken.length <= maxHintLength)
    url.searchParams.set("id_token_hint", idToken);
  url.searchParams.set("post_logout_redirect_uri", new URL(homeOf(returnTo), redirectUri).href);
  return url.href;
}

/** A provider that lists its prompts without this one ignores it. Most list none, and have it. */
function offersAccounts(config: Configuration): boolean {
  const prompts = config.serverMetadata()["prompt_values_supported"];
  return !Array.isArray(prompts) || prompts.includes("select_account");
}

async function userInfo(
  client: typeof import("openid-client"),
  config: Configuration,
  accessToken: string,
  { sub }: IDToken,
): Promise<JsonObject> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return {};
  const response: unknown = await client.fetchUserInfo(config, accessToken, sub).catch(() => ({}));
  return isObject(response) ? response : {};
}

/** `email_verified` only counts for the address in the same document. */
function mergeClaims(claims: JsonObject, more: JsonObject): JsonObject {
  const email = claims["email"] ?? more["email"];
  const source = [claims, more].find(
    (each) => each["email"] === email && each["email_verified"] !== undefined,
  );
  return { ...more, ...claims, email_verified: source?.["email_verified"] };
}

/** Rejects an unverified e-mail address: it may belong to someone else. */
function personIn(claims: JsonObject, settings: OidcSettings): Person {
  const user = claims[settings.userClaim];
  if (typeof user !== "string" || user === "" || unseen.test(user)) {
    throw new SignInRejected(401, `The identity provider did not return your \`${settings.userClaim}\`.`);
  }
  if (settings.userClaim === "email" && claims["email_verified"] !== true && !settings.trustEmail) {
    throw new SignInRejected(401, "The identity provider has not verified your e-mail address.");
  }
  const groups = claims[settings.groupsClaim];
  const listed = Array.isArray(groups) ? groups : [groups];
  return { user, groups: listed.filter((group) => typeof group === "string") };
}
