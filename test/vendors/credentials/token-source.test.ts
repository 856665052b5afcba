import { describe, expect, test } from "bun:test";
import { withoutSecrets } from "../../../src/base/secrets/secrets.ts";
import { clockProblem } from "../../../src/vendors/credentials/clock-problem.ts";
import { CredentialUnavailable } from "../../../src/vendors/credentials/credential.ts";
import { tokenCredential } from "../../../src/vendors/credentials/token-credential.ts";
import { bearerTokenIn, callTokenHost } from "../../../src/vendors/credentials/token-host.ts";
import { type IssuedToken, TokenSource } from "../../../src/vendors/credentials/token-source.ts";
import { TokenSources } from "../../../src/vendors/credentials/token-sources.ts";
import { json, text } from "../../support/answers.ts";
import { FakeClock } from "../../support/clock.ts";
import { startProvider } from "../../support/provider.ts";
import { waitFor } from "../../support/wait.ts";

interface Numbered {
  readonly number: number;
}

/** Issues 1, 2, 3, … or fails, as told. */
class Issuer {
  issued = 0;
  lifeMs = 100_000;
  failure: string | null = null;
  gate: Promise<void> = Promise.resolve();

  readonly issue = async (): Promise<IssuedToken<Numbered>> => {
    this.issued += 1;
    const number = this.issued;
    await this.gate;
    if (this.failure !== null) throw new CredentialUnavailable(this.failure);
    return { token: { number }, lifeMs: this.lifeMs };
  };
}

function sourceOf(issuer: Issuer, clock = new FakeClock()) {
  const failures: string[] = [];
  const source = new TokenSource(issuer.issue, {
    clock,
    onRefreshFailed: ({ message }) => failures.push(message),
  });
  return { source, clock, failures };
}

describe("a token", () => {
  test("is asked for when it is needed, once for any number of requests that wait (K04)", async () => {
    const issuer = new Issuer();
    const gate = Promise.withResolvers<void>();
    issuer.gate = gate.promise;
    const { source } = sourceOf(issuer);
    expect(issuer.issued).toBe(0);
    expect(source.current()).toBeNull();
    const waiting = Array.from({ length: 100 }, () => source.get());
    gate.resolve();
    expect(new Set((await Promise.all(waiting)).map(({ number }) => number))).toEqual(new Set([1]));
    expect(await source.get()).toEqual({ number: 1 });
    expect(issuer.issued).toBe(1);
    source.stop();
  });

  test("is refreshed at 80 % of its life, in the background, while requests go on with the old one (K04)", async () => {
    const issuer = new Issuer();
    issuer.lifeMs = 50;
    // A clock that stands still: the old token stays valid for as long as the test needs.
    const { source } = sourceOf(issuer);
    expect(await source.get()).toEqual({ number: 1 });
    const gate = Promise.withResolvers<void>();
    issuer.gate = gate.promise;
    await waitFor(() => issuer.issued === 2, "the refresh");
    expect(source.current()).toEqual({ number: 1 });
    issuer.lifeMs = 100_000;
    gate.resolve();
    await waitFor(() => source.current()?.number === 2, "the new token");
    expect(issuer.issued).toBe(2);
    source.stop();
  });

  test("whose life is over is not used, and the next request waits for a new one (K04)", async () => {
    const issuer = new Issuer();
    const { source, clock } = sourceOf(issuer);
    await source.get();
    clock.advance(97_999);
    expect(source.current()).toEqual({ number: 1 });
    clock.advance(1);
    expect(source.current()).toBeNull();
    expect(await source.get()).toEqual({ number: 2 });
    source.stop();
  });

  test("a host that fails is left alone for a moment, which doubles, and is asked again after it (K05)", async () => {
    const issuer = new Issuer();
    issuer.failure = "the token host is down";
    const { source, clock } = sourceOf(issuer);
    for (const pauseMs of [1000, 2000, 4000]) {
      await expect(source.get()).rejects.toThrow("the token host is down");
      await expect(source.get()).rejects.toThrow(CredentialUnavailable);
      clock.advance(pauseMs);
    }
    expect(issuer.issued).toBe(3);
    issuer.failure = null;
    expect(await source.get()).toEqual({ number: 4 });
    source.stop();
  });

  test("a refresh that fails in the background is reported, and the old token stays in use (K05)", async () => {
    const issuer = new Issuer();
    issuer.lifeMs = 20;
    const { source, failures } = sourceOf(issuer);
    await source.get();
    issuer.failure = "the token host is down";
    await waitFor(() => failures.length > 0, "the report");
    expect(failures[0]).toBe("the token host is down");
    expect(source.current()).toEqual({ number: 1 });
    source.stop();
  });

  test("that the provider refuses is replaced once, for all that were refused with it (V13)", async () => {
    const issuer = new Issuer();
    const { source } = sourceOf(issuer);
    const first = await source.get();
    expect(source.expired(first)).toBe(true);
    expect(source.expired(first)).toBe(true);
    const second = await source.get();
    expect(second).toEqual({ number: 2 });
    // The replacement is refused as well, so a third would not help.
    expect(source.expired(second)).toBe(false);
    expect(issuer.issued).toBe(2);
    // Once it has been accepted, it may expire like any other.
    source.accepted(second);
    expect(source.expired(second)).toBe(true);
    expect(await source.get()).toEqual({ number: 3 });
    source.stop();
  });
});

describe("token sources", () => {
  test("the same credentials keep their token over a reload, others get one of their own (K06)", async () => {
    const issuer = new Issuer();
    const tokens = new TokenSources({ clock: new FakeClock() });
    const basis = { issuer: "test", account: "a", secret: "s" };
    const before = tokens.source("p", basis, issuer.issue);
    await before.get();
    tokens.stopUnused();
    expect(tokens.source("renamed", { ...basis }, issuer.issue)).toBe(before);
    expect(tokens.source("p", { ...basis, secret: "other" }, issuer.issue)).not.toBe(before);
    tokens.stopUnused();
    tokens.stopUnused();
    expect(tokens.source("p", basis, issuer.issue)).not.toBe(before);
    tokens.stop();
  });

  test("a request holds the token that it was sent with", async () => {
    const tokens = new TokenSources();
    let number = 0;
    const source = tokens.source("p", { issuer: "test" }, async () => {
      number += 1;
      return { token: { headers: { authorization: `Bearer ${number}` } }, lifeMs: 100_000 };
    });
    const credential = tokenCredential(source);
    const first = credential.use();
    expect(first.expired()).toBe(false);
    await first.prepare();
    expect(first.headers()).toEqual({ authorization: "Bearer 1" });
    expect(first.expired()).toBe(true);
    const second = credential.use();
    await second.prepare();
    expect(first.headers()).toEqual({ authorization: "Bearer 1" });
    expect(second.headers()).toEqual({ authorization: "Bearer 2" });
    expect(second.prepare()).toBeNull();
    second.accepted();
    tokens.stop();
  });
});

describe("a token host", () => {
  const never = () => AbortSignal.timeout(20_000);

  test("that cannot be reached is named, without the rest of its address", async () => {
    const asking = callTokenHost(
      { method: "POST", url: "http://127.0.0.1:1/canary?x=canary", form: {} },
      never(),
    );
    await expect(asking).rejects.toThrow("127.0.0.1, which issues it, cannot be reached (ECONNREFUSED)");
  });

  test("that answers without a token gives none, and its words are not repeated", async () => {
    const host = startProvider([
      json({ token: "canary-words" }),
      text("canary-words"),
      json({ access_token: "a\r\nb" }),
    ]);
    for (let time = 0; time < 3; time += 1) {
      const answer = await callTokenHost({ method: "GET", url: host.url }, never());
      expect(() => bearerTokenIn(answer)).toThrow("the token host returned no token");
    }
    host.stop();
  });

  test("a token is redacted from the moment it is issued (T18)", async () => {
    const host = startProvider(json({ access_token: "canary.issued.token", expires_in: "120" }));
    const issued = bearerTokenIn(await callTokenHost({ method: "GET", url: host.url }, never()));
    expect(issued.lifeMs).toBe(120_000);
    expect(withoutSecrets("no canary.issued.token here")).toBe("no [secret] here");
    host.stop();
  });

  test("metrics how far this machine's clock is off (V12)", async () => {
    const dated = (offMs: number) =>
      json({}, { status: 400, headers: { date: new Date(Date.now() + offMs).toUTCString() } });
    const host = startProvider([dated(7 * 60_000), dated(-7 * 60_000), dated(20_000)]);
    const words: (string | null)[] = [];
    for (let time = 0; time < 3; time += 1) {
      const { clockBehindMs } = await callTokenHost({ method: "GET", url: host.url }, never());
      words.push(clockProblem(clockBehindMs));
    }
    expect(words).toEqual([
      "the clock is 7 minutes off (slow); correct it",
      "the clock is 7 minutes off (fast); correct it",
      null,
    ]);
    host.stop();
  });
});
