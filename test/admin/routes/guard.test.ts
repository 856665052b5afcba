import { describe, expect, spyOn, test } from "bun:test";
import type { Page } from "../../../src/admin/formats/shapes.ts";
import type { AuditView } from "../../../src/admin/system/schema.ts";
import { adminBase, memberBase } from "../../../src/base/requests/admin-base.ts";
import { signIn, startAdmin, token } from "./fixtures.ts";

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: [] }>>>>;
}

describe("without a credential", () => {
  test("every route of the document answers 401, and nothing is changed", async () => {
    await using admin = await startAdmin();
    const document = (await (await fetch(`${admin.url}${adminBase}/openapi.json`)).json()) as Document;
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security === undefined)
        .map(([method]) => ({ path: path.replaceAll(/\{\w+\}/g, "x"), method: method.toUpperCase() })),
    );
    expect(routes.length).toBeGreaterThan(15);
    for (const { path, method } of routes) {
      const init = method === "GET" ? { method } : { method, body: '{"mode":"credit"}' };
      const response = await fetch(admin.url + path, init);
      expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} 401`);
    }
    expect(admin.deps.keys.size).toBe(0);
    expect((await admin.store.admin.listAudit({ limit: 9 })).length).toBe(0);
  });

  test("a wrong bearer, another scheme and a made-up cookie are no better", async () => {
    await using admin = await startAdmin();
    const tries: Record<string, string>[] = [
      { authorization: "Bearer wrong" },
      { authorization: `Basic ${btoa(`admin:${token}`)}` },
      { authorization: "", cookie: "sluice_session=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" },
      { authorization: "", "x-api-key": token },
    ];
    for (const headers of tries) expect((await admin.call("/health", { headers })).status).toBe(401);
  });
});

test("only an admitted request may take longer than connections may be idle", async () => {
  await using admin = await startAdmin();
  await admin.call("/keys", { headers: { authorization: "Bearer wrong" } });
  await fetch(`${admin.url}${memberBase}/usage?key=slu_12345678`);
  expect(admin.keptWaiting).toEqual([]);
  await admin.json("/keys");
  await admin.post("/keys", { mode: "credit" });
  expect(admin.keptWaiting).toEqual([`${adminBase}/keys`, `${adminBase}/keys`]);
});

describe("the session", () => {
  test("is an HttpOnly cookie, strictly of this site and of /admin only", async () => {
    await using admin = await startAdmin();
    const response = await admin.call("/session", { method: "POST", body: JSON.stringify({ token }) });
    expect(response.status).toBe(204);
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^sluice_session=slus_[0-9A-Za-z]{43}; /);
    for (const part of ["HttpOnly", "SameSite=Strict", "Path=/admin"]) expect(cookie).toContain(part);
    expect(cookie).not.toContain(token);
  });

  test("is marked Secure where the browser used TLS", async () => {
    await using admin = await startAdmin();
    const headers = { origin: "https://gateway.example", host: "gateway.example" };
    const response = await admin.call("/session", {
      method: "POST",
      body: JSON.stringify({ token }),
      headers,
    });
    expect(response.headers.get("set-cookie")).toContain("; Secure");
  });

  test("is Secure behind a proxy that ends TLS, also where no origin is sent, and never because a stranger says so", async () => {
    await using admin = await startAdmin();
    const enter = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ token });
      const response = await admin.call("/session", { method: "POST", body, headers });
      expect(response.status).toBe(204);
      return (response.headers.get("set-cookie") ?? "").includes("; Secure");
    };
    const tls = { "x-forwarded-proto": "https" };
    expect(await enter({ ...tls, "x-from": "10.0.0.1" })).toBe(true);
    expect(await enter({ ...tls, "x-from": "10.0.0.1", origin: admin.url })).toBe(true);
    expect(await enter({ ...tls })).toBe(false);
    expect(await enter({ origin: admin.url })).toBe(false);
  });

  test("is Secure at a public address with TLS, whose page is our own whatever Host a proxy sends", async () => {
    await using admin = await startAdmin('[admin]\npublic_url = "https://sluice.example.com/"\n');
    const enter = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ token });
      const response = await admin.call("/session", { method: "POST", body, headers });
      return [response.status, (response.headers.get("set-cookie") ?? "").includes("; Secure")];
    };
    expect(await enter({ origin: "https://sluice.example.com" })).toEqual([204, true]);
    expect(await enter({})).toEqual([204, true]);
    expect(await enter({ origin: admin.url })).toEqual([403, false]);
    const plain = { origin: "http://sluice.example.com", host: "sluice.example.com" };
    expect(await enter(plain)).toEqual([403, false]);
  });

  test("admits, until it is ended or half a day is over", async () => {
    await using admin = await startAdmin();
    const cookie = await signIn(admin);
    const status = async () =>
      (await admin.call("/health", { headers: { authorization: "", cookie } })).status;
    expect(await status()).toBe(200);
    admin.clock.advance(12 * 3_600_000 + 1);
    expect(await status()).toBe(401);

    const second = await signIn(admin);
    const headers = { authorization: "", cookie: second, origin: admin.url };
    expect((await admin.call("/session", { method: "DELETE", headers })).status).toBe(200);
    expect((await admin.call("/health", { headers })).status).toBe(401);
  });
});

test("whoever asks whether they are signed in is told, by their session or their token", async () => {
  await using admin = await startAdmin();
  const signedIn = async (cookie: string, authorization = "") => {
    const response = await admin.call("/session", { headers: { authorization, cookie } });
    expect(response.status).toBe(200);
    return ((await response.json()) as { signed_in: boolean }).signed_in;
  };
  const cookie = await signIn(admin);
  expect(await signedIn(cookie)).toBe(true);
  expect(await signedIn("")).toBe(false);
  expect(await signedIn("", `Bearer ${token}`)).toBe(true);
  expect(await signedIn(`sluice_session=slus_${"0".repeat(43)}`)).toBe(false);
  await admin.call("/session", {
    method: "DELETE",
    headers: { authorization: "", cookie, origin: admin.url },
  });
  expect(await signedIn(cookie)).toBe(false);
});

describe("a change", () => {
  const body = JSON.stringify({ mode: "credit" });

  test("by a session is refused from a foreign page, and from no page at all", async () => {
    await using admin = await startAdmin();
    const cookie = await signIn(admin);
    const origins = [null, "https://evil.example", "null", `${admin.url}.evil.example`, "http://127.0.0.1"];
    for (const origin of origins) {
      const headers: Record<string, string> = {
        authorization: "",
        cookie,
        ...(origin === null ? {} : { origin }),
      };
      const response = await admin.call("/keys", { method: "POST", body, headers });
      expect(`${origin} ${response.status}`).toBe(`${origin} 403`);
    }
    expect(admin.deps.keys.size).toBe(0);
    const own = { authorization: "", cookie, origin: admin.url };
    expect((await admin.call("/keys", { method: "POST", body, headers: own })).status).toBe(200);
  });

  test("is refused where the browser says that another site asks, whatever else it says", async () => {
    await using admin = await startAdmin();
    const cookie = await signIn(admin);
    for (const site of ["cross-site", "same-site"]) {
      const headers = { "sec-fetch-site": site, "content-type": "text/plain" };
      const own = { ...headers, authorization: "", cookie, origin: admin.url };
      expect((await admin.call("/keys", { method: "POST", body, headers: own })).status).toBe(403);
      const enter = { method: "POST", body: JSON.stringify({ token }), headers };
      expect((await admin.call("/session", enter)).status).toBe(403);
      expect((await admin.call("/session", { method: "DELETE", headers: own })).status).toBe(403);
    }
    const headers = { authorization: "", cookie, origin: admin.url, "sec-fetch-site": "same-origin" };
    expect((await admin.call("/keys", { method: "POST", body, headers })).status).toBe(200);
  });

  test("is not made by a method that only reads, nor by one in disguise", async () => {
    await using admin = await startAdmin();
    const cookie = await signIn(admin);
    const headers = { authorization: "", cookie, "x-http-method-override": "POST" };
    for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
      await admin.call("/keys?mode=credit&_method=POST", { method, headers });
    }
    expect(admin.deps.keys.size).toBe(0);
  });

  test("by a program needs no origin, but a foreign page cannot borrow its token either", async () => {
    await using admin = await startAdmin();
    expect((await admin.call("/keys", { method: "POST", body })).status).toBe(200);
    const headers = { origin: "https://evil.example" };
    expect((await admin.call("/keys", { method: "POST", body, headers })).status).toBe(403);
  });

  test("is written to the audit log with who, from where and what, and no secret", async () => {
    await using admin = await startAdmin();
    const made = await admin.post<{ key: string; prefix: string }>("/keys", { mode: "credit", credit: 5 });
    await admin.post(`/keys/${made.prefix}/topup`, { amount: 2.5 });
    const limits = { label: "Ada", rpm_limit: 60, expires_at: "2099-01-31T00:00:00.000Z" };
    for (const body of [limits, { ...limits, rpm_limit: null }]) {
      await admin.json(`/keys/${made.prefix}`, { method: "PATCH", body: JSON.stringify(body) });
    }
    await admin.post(`/keys/${made.prefix}/revoke`);
    const { data } = await admin.json<Page<AuditView>>("/audit");
    expect(data.map(({ action, target, actor }) => [action, target, actor])).toEqual([
      ["key.revoke", made.prefix, "token"],
      ["key.update", made.prefix, "token"],
      ["key.update", made.prefix, "token"],
      ["key.topup", made.prefix, "token"],
      ["key.create", made.prefix, "token"],
    ]);
    expect(data.map(({ detail }) => detail)).toEqual([
      null,
      "rpm 60 → none",
      "label, rpm none → 60, expires never → 2099-01-31T00:00:00.000Z",
      "+2.5 credits",
      "credit, 5 credits",
    ]);
    expect(data[1]).toMatchObject({ address: "127.0.0.1" });
    expect(JSON.stringify(data)).not.toContain(made.key);
  });
});

describe("a store that cannot write", () => {
  const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });

  test("refuses a change with the reason and what to do", async () => {
    await using admin = await startAdmin();
    using _ = spyOn(admin.store, "insertKey").mockRejectedValue(full);
    const refused = await admin.call("/keys", { method: "POST", body: JSON.stringify({ mode: "credit" }) });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      error: {
        code: "disk_full",
        message: expect.stringMatching(/is full .*Nothing was lost\. Free at least/),
      },
    });
  });

  test("lets an operator in who wants to see what is wrong, once that is known", async () => {
    await using admin = await startAdmin();
    using _ = spyOn(admin.store.admin, "appendAudit").mockRejectedValue(full);
    const body = JSON.stringify({ token });
    const headers = { origin: admin.url, "content-type": "application/json" };
    const enter = () => fetch(`${admin.url}${adminBase}/session`, { method: "POST", body, headers });
    expect((await enter()).status).toBe(503);
    Object.defineProperty(admin.store, "problem", { value: { reason: "Full.", advice: "Free at least." } });
    expect((await enter()).status).toBe(204);
  });
});

describe("guessing", () => {
  const wrong = { authorization: "Bearer wrong", "x-from": "10.0.0.9" };
  const right = { "x-from": "10.0.0.9" };

  test("is told how long to wait after five failures, by bearer and by sign-in alike", async () => {
    await using admin = await startAdmin();
    for (let failure = 0; failure < 5; failure += 1) {
      expect((await admin.call("/health", { headers: wrong })).status).toBe(401);
    }
    const signIn = { method: "POST", body: JSON.stringify({ token: "wrong" }), headers: right };
    for (const locked of [
      await admin.call("/health", { headers: wrong }),
      await admin.call("/session", signIn),
      await fetch(`${admin.url}/metrics`, { headers: wrong }),
    ]) {
      expect(locked.status).toBe(429);
      expect(Number(locked.headers.get("retry-after"))).toBe(900);
      expect(await locked.text()).toContain("900 s");
    }
    const elsewhere = { ...wrong, "x-from": "10.0.0.10" };
    expect((await admin.call("/health", { headers: elsewhere })).status).toBe(401);
    admin.clock.advance(900_001);
    expect((await admin.call("/health", { headers: wrong })).status).toBe(401);
  });

  test("never keeps the right token out, and does not forget the wrong ones for it", async () => {
    await using admin = await startAdmin();
    for (let failure = 0; failure < 5; failure += 1) await admin.call("/health", { headers: wrong });
    expect((await admin.call("/health", { headers: right })).status).toBe(200);
    const signIn = { method: "POST", body: JSON.stringify({ token }), headers: right };
    expect((await admin.call("/session", signIn)).status).toBe(204);
    expect((await admin.call("/health", { headers: wrong })).status).toBe(429);
  });

  test("starts from nothing again after a success", async () => {
    await using admin = await startAdmin();
    for (let round = 0; round < 3; round += 1) {
      for (let failure = 0; failure < 4; failure += 1) await admin.call("/health", { headers: wrong });
      expect((await admin.call("/health", { headers: right })).status).toBe(200);
    }
  });
});
