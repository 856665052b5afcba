import { afterAll, describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { importKey, readGoogleKey, signJwt } from "../../../src/vendors/google/service-account.ts";
import { load, problemsOf } from "../../config/fixtures.ts";
import { json } from "../../support/answers.ts";
import { newFolder } from "../../support/new-folder.ts";
import { headersFrom } from "../google/headers-from.ts";
import { keyFile, startFakeVertex, userFile, vertexAccount } from "./fake-vertex.ts";

const fake = startFakeVertex();
afterAll(() => fake.stop());

describe("Google's tokens", () => {
  test("a service account signs for its token, whatever the line ends of its key are (V09, T08)", async () => {
    const whole = keyFile(fake.tokenUri);
    const { private_key: pem } = JSON.parse(whole) as { private_key: string };
    for (const key of [pem, pem.replaceAll("\r\n", "\n"), pem.replaceAll("\r\n", "\\n")]) {
      const headers = await headersFrom(keyFile(fake.tokenUri, { private_key: key }));
      expect(headers).toEqual({ authorization: `Bearer canary-google-token-${fake.issued}` });
    }
    await expect(
      headersFrom(keyFile(fake.tokenUri, { private_key: "-----BEGIN PRIVATE KEY-----\nAAAA\n" })),
    ).rejects.toThrow("private_key in the key file cannot be read; download a new key file");
  });

  test("the signature is that of RFC 7515, A.2 (V09)", async () => {
    // The key of the RFC as PKCS #8, its header and its claims.
    const jwk = {
      kty: "RSA",
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
      d: "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
      p: "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
      q: "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
      dp: "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
      dq: "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
      qi: "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U",
    };
    const pem = createPrivateKey({ key: jwk, format: "jwk" }).export({ type: "pkcs8", format: "pem" });
    const imported = await importKey(String(pem));
    const payload = '{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}';
    const bytes = new TextEncoder().encode(
      `${Buffer.from('{"alg":"RS256"}').toString("base64url")}.${Buffer.from(payload).toString("base64url")}`,
    );
    const signature = Buffer.from(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", imported, bytes));
    expect(signature.toString("base64url")).toStartWith(
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7",
    );
    const jwt = await signJwt({ alg: "RS256" }, { iss: "joe" }, imported);
    expect(jwt.split(".")).toHaveLength(3);
  });

  test("the metadata server's token needs its header, and never a proxy (V10, T08)", async () => {
    const before = process.env["http_proxy"];
    process.env["http_proxy"] = "http://127.0.0.1:1";
    try {
      const headers = await headersFrom("metadata", { GCE_METADATA_HOST: new URL(fake.url).host });
      expect(headers["authorization"]).toStartWith("Bearer canary-google-token-");
    } finally {
      if (before === undefined) delete process.env["http_proxy"];
      else process.env["http_proxy"] = before;
    }
  });

  test("application default credentials are the named file, gcloud's own, or the metadata server (V11)", async () => {
    const folder = newFolder();
    const named = join(folder, "named.json");
    writeFileSync(named, keyFile(fake.tokenUri));
    const nowhere = { CLOUDSDK_CONFIG: join(folder, "nowhere"), GCE_METADATA_HOST: new URL(fake.url).host };
    expect(await headersFrom("adc", { ...nowhere, GOOGLE_APPLICATION_CREDENTIALS: named })).toHaveProperty(
      "authorization",
    );
    writeFileSync(join(folder, "application_default_credentials.json"), userFile(fake.tokenUri));
    expect(await headersFrom("adc", { CLOUDSDK_CONFIG: folder })).toMatchObject({
      "x-goog-user-project": vertexAccount.project,
    });
    const home = join(folder, "home");
    const gcloud = join(home, ".config", "gcloud");
    mkdirSync(gcloud, { recursive: true });
    writeFileSync(join(gcloud, "application_default_credentials.json"), userFile(fake.tokenUri));
    const ofUser = { "x-goog-user-project": vertexAccount.project };
    expect(await headersFrom("adc", { HOME: home, GOOGLE_APPLICATION_CREDENTIALS: "" })).toMatchObject(
      ofUser,
    );
    const elsewhere = await headersFrom("adc", { ...nowhere, HOME: home });
    expect(elsewhere).toHaveProperty("authorization");
    expect(elsewhere).not.toHaveProperty("x-goog-user-project");
    expect(await headersFrom("adc", nowhere)).toHaveProperty("authorization");
    await expect(
      headersFrom("adc", { GOOGLE_APPLICATION_CREDENTIALS: join(folder, "none.json") }),
    ).rejects.toThrow("the file in GOOGLE_APPLICATION_CREDENTIALS cannot be read");
    expect(readGoogleKey(JSON.stringify({ type: "external_account" }))).toStartWith(
      "is not a workload identity federation file",
    );
  });

  test("a clock that is off is told as such, and Google's words are not (V12, T08)", async () => {
    const dated = (offMs: number) => ({ date: new Date(Date.now() + offMs).toUTCString() });
    const body = { error: "invalid_grant", error_description: "canary-words" };
    fake.tokenTrouble = json(body, { status: 400, headers: dated(7 * 60_000) });
    await expect(headersFrom(keyFile(fake.tokenUri))).rejects.toThrow(
      "Google rejects the key: the clock is 7 minutes off (slow); correct it",
    );
    fake.tokenTrouble = json(body, { status: 400, headers: dated(0) });
    await expect(headersFrom(keyFile(fake.tokenUri))).rejects.toThrow(
      "Google rejects the key: it may have been deleted, or the clock may be off",
    );
    await expect(headersFrom(userFile(fake.tokenUri))).rejects.toThrow(
      "run `gcloud auth application-default login` again",
    );
    fake.tokenTrouble = json(body, { status: 503 });
    await expect(headersFrom(keyFile(fake.tokenUri))).rejects.toThrow("Google returned 503");
    fake.tokenTrouble = null;
  });
});

describe("the configuration", () => {
  const vertex = (lines: string) => `
    [providers.vertex]\nkind = "vertex"\n${lines}
    [[models]]\nid = "gemini-3-pro"\nprovider = "vertex"\nfree = true`;
  const env = { SA: keyFile("https://oauth2.googleapis.com/token"), BAD: "{}", KEY: "express-key-1" };

  test("one way, whose file may be missing (K01, K03)", () => {
    expect(problemsOf(vertex('api_key = "env:KEY"\ncredentials = "adc"'), { env })).toEqual([
      "providers.vertex: credentials and api_key belong to different ways to authenticate; keep one of them",
    ]);
    const { settings } = load(vertex('project = "p"\ncredentials = "file:/nowhere/sa.json"'), { env });
    expect(settings.warnings[0]).toStartWith('provider "vertex" is skipped: /nowhere/sa.json does not exist');
    expect(load(vertex(""), { env }).settings.warnings[0]).toContain("it has no credentials or api_key");
  });

  test("a key file must be one, and names the project unless the operator does", () => {
    expect(problemsOf(vertex('credentials = "env:BAD"'), { env })[0]).toStartWith(
      "providers.vertex.credentials: is not a key file",
    );
    expect(problemsOf(vertex('credentials = "secret"'), { env })[0]).toStartWith(
      'providers.vertex.credentials: must be "metadata", "adc", or refer to a key file',
    );
    expect(problemsOf(vertex('credentials = "adc"'), { env })).toEqual([
      "providers.vertex.project: missing; it must be the id of the project to bill",
    ]);
    expect(load(vertex('credentials = "env:SA"'), { env }).settings.providers.size).toBe(1);
    const insecure = { SA: keyFile("http://tokens.example/token") };
    expect(problemsOf(vertex('credentials = "env:SA"'), { env: insecure })).toEqual([
      "providers.vertex.credentials: has a token_uri that is not https",
    ]);
  });

  test("project and location go into addresses (K02)", () => {
    expect(
      problemsOf(vertex('credentials = "adc"\nproject = "a/b"\nlocation = "evil.example"'), { env }),
    ).toEqual([
      "providers.vertex.project: must be lowercase letters, digits and - only",
      "providers.vertex.location: must be lowercase letters, digits and - only",
    ]);
  });
});
