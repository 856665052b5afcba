import { describe, expect, test } from "bun:test";
import { RequestSigner } from "../../../src/vendors/aws/signature.ts";
import vectors from "./signature-vectors.json" with { type: "json" };

const key = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: null,
};

describe("AWS's own signing vectors (T10)", () => {
  const atMs = Date.UTC(2015, 7, 30, 12, 36);
  for (const { name, sessionToken, signature, ...request } of vectors) {
    test(name, () => {
      const signer = new RequestSigner({ ...key, sessionToken }, { region: "us-east-1", service: "service" });
      const { authorization } = signer.sign(request, atMs);
      expect(authorization).toEndWith(`Signature=${signature}`);
    });
  }
});

const scope = { region: "us-east-1", service: "bedrock" };
const request = {
  method: "POST",
  target: "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
  headers: { host: "bedrock-runtime.us-east-1.amazonaws.com", "content-type": "application/json" },
  body: '{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"inferenceConfig":{"maxTokens":16}}',
};

test("a model's id with a colon is signed as Bedrock expects it, encoded twice (B07, B08)", () => {
  const signer = new RequestSigner(key, scope);
  expect(signer.sign(request, Date.UTC(2026, 0, 1))).toEqual({
    "x-amz-date": "20260101T000000Z",
    authorization:
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/bedrock/aws4_request, " +
      "SignedHeaders=content-type;host;x-amz-date, " +
      "Signature=53af30002f78d9f118c9e0225b58b2d95ff4a092d5b0d2243ad6ab42af7d48f5",
  });
});

test("a session token is sent and covered (B06)", () => {
  const signed = new RequestSigner({ ...key, sessionToken: "token" }, scope).sign(
    request,
    Date.UTC(2026, 0, 1),
  );
  expect(signed["x-amz-security-token"]).toBe("token");
  expect(signed.authorization).toContain("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,");
});

test("the derived key and the date move on at midnight and with every second (B09)", () => {
  const signer = new RequestSigner(key, scope);
  for (const atMs of [
    Date.UTC(2026, 0, 1, 23, 59, 59, 999),
    Date.UTC(2026, 0, 2),
    Date.UTC(2026, 0, 2, 0, 0, 1),
  ]) {
    expect(signer.sign(request, atMs)).toEqual(new RequestSigner(key, scope).sign(request, atMs));
  }
});

test("bodies as text and as bytes have the same signature, an empty one too (B06)", () => {
  const signer = new RequestSigner(key, scope);
  for (const body of ["", "ü", "x".repeat(300_000)]) {
    const bytes = new TextEncoder().encode(body);
    expect(signer.sign({ ...request, body }, 0)).toEqual(signer.sign({ ...request, body: bytes }, 0));
  }
});
