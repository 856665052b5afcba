import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../../src/base/json.ts";
import { RequestSigner } from "../../../src/vendors/aws/signature.ts";
import { TokenSources } from "../../../src/vendors/credentials/token-sources.ts";
import { googleCredential } from "../../../src/vendors/google/credentials.ts";
import { readGoogleKey } from "../../../src/vendors/google/service-account.ts";
import { load } from "../../config/fixtures.ts";
import { type Answer, json, text } from "../../support/answers.ts";
import { newFolder } from "../../support/new-folder.ts";
import { type SeenRequest, startProvider } from "../../support/provider.ts";
import { headersFrom } from "./headers-from.ts";

const folder = newFolder();
const subjectFile = join(folder, "subject");
const audience =
  "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/workload";
const scope = "https://www.googleapis.com/auth/cloud-platform";

/** What Google's token service, its impersonation, a workload's own token server and AWS's metadata server say. */
const answers: Record<string, (request: SeenRequest) => Answer> = {
  "/sts": () => json({ access_token: "canary-federated", expires_in: 3599, token_type: "Bearer" }),
  "/impersonate": () =>
    json({
      accessToken: "canary-impersonated",
      expireTime: new Date(Date.now() + 1_200_000).toISOString(),
    }),
  "/own": () => json({ nested: "canary-own-token" }),
  "/latest/api/token": () => text("canary-session"),
  "/latest/meta-data/placement/region": () => text("eu-canary-1"),
  "/latest/meta-data/iam/security-credentials/": () => text("role"),
  "/latest/meta-data/iam/security-credentials/role": () =>
    json({ AccessKeyId: "AKMETA", SecretAccessKey: "canary-aws-secret", Token: "canary-aws-session" }),
};
const usual = { ...answers };
const host = startProvider((request) => answers[request.path]?.(request) ?? json({}, { status: 404 }));
afterEach(() => {
  Object.assign(answers, usual);
  host.requests.length = 0;
});
afterAll(() => {
  host.stop();
  rmSync(folder, { recursive: true, force: true });
});

const asked = (path: string) => host.requests.filter((request) => request.path === path);
const formOf = (request: SeenRequest | undefined) =>
  Object.fromEntries(new URLSearchParams(request?.text ?? ""));

function accountFile(source: JsonObject, changes: JsonObject = {}): string {
  return JSON.stringify({
    type: "external_account",
    audience,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${host.url}/sts`,
    credential_source: source,
    ...changes,
  });
}

describe("a workload identity federation exchanges the workload's token for one of Google's:", () => {
  test("from a file, which is read anew for each exchange", async () => {
    const file = accountFile({ file: subjectFile });
    for (const token of ["canary-first", "canary-second"]) {
      writeFileSync(subjectFile, `${token}\n`);
      expect(await headersFrom(file)).toEqual({ authorization: "Bearer canary-federated" });
      expect(formOf(host.requests.at(-1))).toEqual({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
        audience,
        scope,
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        subject_token: token,
      });
    }
    expect(host.requests[0]?.headers["authorization"]).toBeUndefined();
  });

  test("from a file in JSON", async () => {
    writeFileSync(subjectFile, JSON.stringify({ id_token: "canary-in-json" }));
    const format = { type: "json", subject_token_field_name: "id_token" };
    await headersFrom(accountFile({ file: subjectFile, format }));
    expect(formOf(asked("/sts")[0])["subject_token"]).toBe("canary-in-json");
  });

  test("from a server, with the headers that it wants", async () => {
    const format = { type: "json", subject_token_field_name: "nested" };
    const source = { url: `${host.url}/own`, headers: { Metadata: "True" }, format };
    await headersFrom(accountFile(source));
    expect(asked("/own")).toMatchObject([{ method: "GET", headers: { metadata: "True" } }]);
    expect(formOf(asked("/sts")[0])["subject_token"]).toBe("canary-own-token");
  });

  test("one token serves all requests, until it is refused", async () => {
    writeFileSync(subjectFile, "canary-subject");
    const tokens = new TokenSources();
    const credential = googleCredential("vertex", accountFile({ file: subjectFile }), tokens, {});
    for (let request = 0; request < 3; request += 1) {
      const use = credential.use();
      await use.prepare();
      use.accepted();
    }
    expect(asked("/sts")).toHaveLength(1);
    expect(credential.use().expired()).toBe(true);
    await credential.use().prepare();
    expect(asked("/sts")).toHaveLength(2);
    tokens.stop();
  });

  test("as a client, for a project, and with a project that pays", async () => {
    writeFileSync(subjectFile, "canary-subject");
    const source = { file: subjectFile };
    const headers = await headersFrom(
      accountFile(source, { client_id: "me", client_secret: "canary-secret", quota_project_id: "payer" }),
    );
    expect(headers).toEqual({ authorization: "Bearer canary-federated", "x-goog-user-project": "payer" });
    expect(asked("/sts")[0]?.headers["authorization"]).toBe(`Basic ${btoa("me:canary-secret")}`);
    await headersFrom(accountFile(source, { workforce_pool_user_project: "12" }));
    expect(formOf(asked("/sts")[1])["options"]).toBe('{"userProject":"12"}');
  });
});

describe("from AWS,", () => {
  const aws = {
    environment_id: "aws1",
    region_url: "http://169.254.169.254/x",
    url: "http://169.254.169.254/y",
  };
  const type = { subject_token_type: "urn:ietf:params:aws:token-type:aws4_request" };

  interface Signed {
    readonly url: string;
    readonly method: string;
    readonly headers: readonly { readonly key: string; readonly value: string }[];
  }

  /** The request that Google would send to Amazon. It has to be signed with these keys. */
  function signedIn(request: SeenRequest | undefined, region: string, secret: string) {
    const signed = JSON.parse(decodeURIComponent(formOf(request)["subject_token"] ?? "")) as Signed;
    const headers = Object.fromEntries(signed.headers.map(({ key, value }) => [key, value]));
    const {
      authorization,
      "x-amz-date": date = "",
      "x-amz-security-token": sessionToken = null,
      ...own
    } = headers;
    const accessKeyId = /Credential=(\w+)\//.exec(authorization ?? "")?.[1] ?? "";
    const signer = new RequestSigner(
      { accessKeyId, secretAccessKey: secret, sessionToken },
      { region, service: "sts" },
    );
    const { pathname, search } = new URL(signed.url);
    const atMs = Date.parse(date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, "$1-$2-$3T$4:$5:$6Z"));
    const again = signer.sign({ method: "POST", target: pathname + search, headers: own, body: "" }, atMs);
    expect(authorization).toBe(again.authorization);
    return { ...signed, headers: own, accessKeyId, sessionToken };
  }

  test("a signed request for the caller's identity, by the environment's keys", async () => {
    const env = {
      AWS_REGION: "us-canary-2",
      AWS_ACCESS_KEY_ID: "AKENV",
      AWS_SECRET_ACCESS_KEY: "canary-env-secret",
    };
    await headersFrom(accountFile(aws, type), env);
    expect(signedIn(asked("/sts")[0], "us-canary-2", "canary-env-secret")).toEqual({
      url: "https://sts.us-canary-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
      method: "POST",
      headers: { host: "sts.us-canary-2.amazonaws.com", "x-goog-cloud-target-resource": audience },
      accessKeyId: "AKENV",
      sessionToken: null,
    });
  });

  test("the same by the machine's role, in the machine's region", async () => {
    await headersFrom(accountFile(aws, type), { AWS_EC2_METADATA_SERVICE_ENDPOINT: host.url });
    expect(signedIn(asked("/sts")[0], "eu-canary-1", "canary-aws-secret")).toMatchObject({
      accessKeyId: "AKMETA",
      sessionToken: "canary-aws-session",
    });
  });

  test("a region that nobody knows is said to be missing", async () => {
    await expect(headersFrom(accountFile(aws, type), { AWS_EC2_METADATA_DISABLED: "true" })).rejects.toThrow(
      "the AWS region is unknown; set AWS_REGION",
    );
  });
});

describe("a service account is impersonated", () => {
  const impersonated = (more: JsonObject = {}) =>
    accountFile(
      { file: subjectFile },
      { service_account_impersonation_url: `${host.url}/impersonate`, ...more },
    );

  test("with the exchanged token, for as long as the file says", async () => {
    writeFileSync(subjectFile, "canary-subject");
    const headers = await headersFrom(
      impersonated({
        service_account_impersonation: { token_lifetime_seconds: 1200 },
        quota_project_id: "payer",
      }),
    );
    expect(headers).toEqual({ authorization: "Bearer canary-impersonated", "x-goog-user-project": "payer" });
    const [request] = asked("/impersonate");
    expect(request?.headers).toMatchObject({
      authorization: "Bearer canary-federated",
      "content-type": "application/json",
    });
    expect(JSON.parse(request?.text ?? "")).toEqual({ scope: [scope], lifetime: "1200s" });
  });

  test("and a workload that may not is told what it lacks, without Google's words", async () => {
    writeFileSync(subjectFile, "canary-subject");
    answers["/impersonate"] = () => json({ error: { message: "canary-words" } }, { status: 403 });
    const refused = headersFrom(impersonated());
    await expect(refused).rejects.toThrow("grant it the role Workload Identity User");
    await expect(refused).rejects.not.toThrow("canary");
    answers["/impersonate"] = () => json({}, { status: 503 });
    await expect(headersFrom(impersonated())).rejects.toThrow("returned 503");
  });
});

describe("what goes wrong is told without a secret:", () => {
  test("a token that is not there, or not accepted", async () => {
    const gone = accountFile({ file: join(folder, "gone") });
    await expect(headersFrom(gone)).rejects.toThrow("the file in credential_source.file cannot be read");
    writeFileSync(subjectFile, " \n");
    const file = accountFile({ file: subjectFile });
    await expect(headersFrom(file)).rejects.toThrow("the file in credential_source.file is empty");
    const format = { type: "json", subject_token_field_name: "id_token" };
    await expect(headersFrom(accountFile({ file: subjectFile, format }))).rejects.toThrow(
      "does not have the field",
    );
    answers["/own"] = () => json({}, { status: 500 });
    await expect(headersFrom(accountFile({ url: `${host.url}/own` }))).rejects.toThrow(
      "credential_source.url returned 500",
    );
    expect(asked("/sts")).toHaveLength(0);

    writeFileSync(subjectFile, "canary-subject");
    const words = { error: "invalid_grant", error_description: "canary-words" };
    answers["/sts"] = () => json(words, { status: 400 });
    await expect(headersFrom(file)).rejects.toThrow(
      "Google's token service rejects the workload's token: it may have expired, or be for a different audience",
    );
    answers["/sts"] = () => json({ error: "invalid_target" }, { status: 400 });
    await expect(headersFrom(file)).rejects.toThrow("rejects the exchange (400); check the audience");
    const date = new Date(Date.now() - 600_000).toUTCString();
    answers["/sts"] = () => json(words, { status: 400, headers: { date } });
    await expect(headersFrom(file)).rejects.toThrow("the clock is 10 minutes off (fast)");
    answers["/sts"] = () => json({}, { status: 503 });
    await expect(headersFrom(file)).rejects.toThrow("Google's token service returned 503");
  });

  test.each([
    [
      { executable: { command: "/bin/token" } },
      {},
      "gets its token from a program (credential_source.executable), which is not supported",
    ],
    [{ certificate: {} }, {}, "gets its token with a certificate"],
    [{ environment_id: "aws2" }, {}, "has an unknown credential_source.environment_id"],
    [{}, {}, "has a credential_source without a file, a url or an environment_id"],
    [{ file: "/x", format: { type: "xml" } }, {}, "has an unknown credential_source.format"],
    [{ file: "/x", format: { type: "json" } }, {}, "has an unknown credential_source.format"],
    [{ url: "http://tokens.example/" }, {}, "has a credential_source.url that is neither https nor"],
    [{ file: "/x" }, { token_url: "http://sts.example/" }, "has a token_url that is not https"],
    [{ file: "/x" }, { token_url: "sts" }, "has a token_url that is not a URL"],
    [
      { file: "/x" },
      { service_account_impersonation_url: "http://x.example" },
      "has a service_account_impersonation_url that is not https",
    ],
    [{ file: "/x" }, { audience: null }, "is not a workload identity federation file: audience"],
  ] as const)("a file of %j with %j is refused when it is configured", (source, changes, problem) => {
    expect(readGoogleKey(accountFile(source, changes))).toStartWith(problem);
  });

  test("metadata servers of clouds may be asked without encryption", () => {
    expect(readGoogleKey(accountFile({ url: "http://169.254.169.254/metadata/identity" }))).toBeObject();
  });

  test("the project has to be configured, because the file does not name one", () => {
    const config = (lines: string) =>
      `[providers.v]\nkind = "vertex"\ncredentials = "env:FILE"\n${lines}\n[[models]]\nid = "m"\nprovider = "v"\nfree = true`;
    const env = { FILE: accountFile({ file: "/x" }) };
    expect(() => load(config(""), { env })).toThrow("it must be the id of the project to bill");
    expect(load(config('project = "p"'), { env }).settings.providers.size).toBe(1);
  });
});
