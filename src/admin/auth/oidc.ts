import type { Configuration, CustomFetch, IDToken } from "openid-client";
import { isObject, type JsonObject } from "../../base/json.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import type { OidcSettings } from "../../config/settings.ts";
import { collectAnswer } from "../../wire/collect.ts";
import { sendOnce } from "../../wire/send-once.ts";
import type { SignInAttempt } from "./oidc-attempt.ts";
import type { Person } from "./person.ts";

const timeoutMs = 10_000;
/** The headers that the OpenID client reads. */
const readHeaders = ["content-type", "www-authenticate", "dpop-nonce"];

/** A `fetch` for the OpenID client on a connection of its own: clients' uploads can fill the slots of the real one. */
const fetchFromIssuer: CustomFetch = async (url, { method, headers, body, signal }) => {
  const sent = body === undefined || body === null ? null : await new Response(body).text();
  const request = { method, headers: { ...headers, "accept-encoding": "identity" }, body: sent };
  const answer = await collectAnswer(
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

/** A failed sign-in. The message is shown to the person. */
export class SignInRejected extends Error {
  readonly status: 401 | 503;

  constructor(status: 401 | 503, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

/** Signs people in with OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export class OidcSignIn {
  #known: { readonly settings: OidcSettings; readonly config: Configuration; readonly atMs: number } | null =
    null;
  #asking: { readonly settings: OidcSettings; readonly answer: Promise<Configuration> } | null = null;

  /** The address to redirect the browser to, and the values that its return must match. */
  async begin(settings: OidcSettings, redirectUri: string) {
    const client = await import("openid-client");
    const config = await this.#discover(settings);
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
    });
    return { url, state, nonce, verifier };
  }

  /** `callback` is the full URL to which the browser returned. */
  async finish(settings: OidcSettings, callback: URL, attempt: SignInAttempt): Promise<Person> {
    const client = await import("openid-client");
    const config = await this.#discover(settings);
    const tokens = await client
      .authorizationCodeGrant(config, callback, {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.verifier,
        idTokenExpected: true,
      })
      .catch((error: unknown) => {
        throw new SignInRejected(
          401,
          "The identity provider sent an invalid response. Sign in again.",
          error,
        );
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
    return personIn(mergeClaims(claims, more), settings);
  }

  /** Discovers the issuer once at a time: while it hangs, all sign-ins wait for the same response. */
  #discover(settings: OidcSettings): Promise<Configuration> {
    const known = this.#known;
    if (known?.settings === settings && known.atMs + knownForMs > performance.now())
      return Promise.resolve(known.config);
    if (this.#asking?.settings === settings) return this.#asking.answer;
    const answer = this.#ask(settings).finally(() => {
      if (this.#asking?.answer === answer) this.#asking = null;
    });
    this.#asking = { settings, answer };
    return answer;
  }

  async #ask(settings: OidcSettings): Promise<Configuration> {
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
      this.#known = { settings, config, atMs: performance.now() };
      return config;
    } catch (error) {
      const message = "The identity provider cannot be reached. Try again later, or sign in with a token.";
      throw new SignInRejected(503, message, error);
    }
  }
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

/** Invisible characters could make one name look like another, or compare as equal. */
const unseen = /^\s|\s$|\p{C}/u;

/** Rejects an unverified e-mail address: it may belong to someone else. */
export function personIn(claims: JsonObject, settings: OidcSettings): Person {
  const user = claims[settings.userClaim];
  if (typeof user !== "string" || user === "" || unseen.test(user)) {
    throw new SignInRejected(401, `The identity provider did not say your \`${settings.userClaim}\`.`);
  }
  if (settings.userClaim === "email" && claims["email_verified"] !== true && !settings.trustEmail) {
    throw new SignInRejected(401, "The identity provider has not verified your e-mail address.");
  }
  const groups = claims[settings.groupsClaim];
  const listed = Array.isArray(groups) ? groups : [groups];
  return { user, groups: listed.filter((group) => typeof group === "string") };
}
