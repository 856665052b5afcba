import { afterAll, beforeAll, expect, test } from "bun:test";
import { Browser } from "../admin/oidc/browser.ts";
import { clientId, clientSecret, startIssuer } from "../admin/oidc/issuer.ts";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { HookServer } from "../support/hook.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, Recorder } from "../wire/recorder.ts";

const formCount = 256;

const release = Promise.withResolvers<void>();
const provider = startProvider(({ text }) => {
  const answer = json({ text: "hello" });
  return text.includes("slow.mp3")
    ? { ...answer, steps: [{ until: release.promise }, ...answer.steps] }
    : answer;
});
const hook = new HookServer();
let issuer: Awaited<ReturnType<typeof startIssuer>>;
let sluice: Sluice;

beforeAll(async () => {
  issuer = await startIssuer();
  const head = `[admin]\nadmins = ["ada@example.com"]\n[admin.oidc]\nissuer = "${issuer.url}"\nclient_id = "${clientId}"
client_secret = "env:OIDC_SECRET"\n[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\n`;
  const tail =
    '\n[[models]]\nid = "hear"\nprovider = "openai"\nserves = ["transcriptions"]\nprice = { audio_minutes = 0.006 }\n';
  sluice = await Sluice.start({
    config: configFor({ url: provider.url, head, tail }),
    // As where the system does not let the gateway raise it.
    env: {
      OIDC_SECRET: clientSecret,
      ALERT_WEBHOOK_URL: hook.url,
      BUN_CONFIG_MAX_HTTP_REQUESTS: String(formCount),
    },
  });
});
afterAll(async () => {
  release.resolve();
  await sluice.dispose();
  hook[Symbol.dispose]();
  issuer.stop();
  provider.stop();
});

const formOf = (file: string) =>
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nhear\r\n' +
  `--b\r\ncontent-disposition: form-data; name="file"; filename="${file}"\r\n\r\nsound\r\n--b--\r\n`;

/** The tests' own `fetch` has as few slots as the gateway's. */
function transcribe({ key }: TestKey, file: string): Recorder {
  const { host, port } = new URL(sluice.url);
  const head = [
    "POST /v1/audio/transcriptions HTTP/1.1",
    `host: ${host}`,
    `authorization: Bearer ${key}`,
    "content-type: multipart/form-data; boundary=b\r\n",
  ].join("\r\n");
  const recorder = new Recorder();
  clientOf({ port: Number(port) }).send(head, formOf(file), recorder, "caller");
  return recorder;
}

const statusOf = ({ events }: Recorder) => events.find((event) => event.startsWith("answered"));

test("256 slow forms of one key leave slots for another key's form, a sign-in and an alert", async () => {
  const greedy = await sluice.createKey({ rpm: 10_000 });
  const slow = Array.from({ length: formCount }, () => transcribe(greedy, "slow.mp3"));
  const rejected = () => slow.filter((form) => statusOf(form) === "answered 503").length;
  await waitFor(
    () => provider.requests.length + rejected() === formCount,
    "every form to be sent on or rejected",
  );
  expect(provider.requests.length).toBe(formCount / 2);

  const other = transcribe(await sluice.createKey(), "quick.mp3");
  expect(await other.over).toBe("ended");
  expect(statusOf(other)).toBe("answered 200");

  const browser = new Browser();
  await browser.open(`${sluice.url}/admin/oidc/login?return=%2Fadmin`);
  const session = await browser.fetch(`${sluice.url}/admin/api/v1/session`);
  expect(await session.json()).toMatchObject({ name: "ada@example.com", signed_in: true });

  const key = await sluice.createKey({ expires: "3d" });
  await waitFor(() => hook.alerts.some(({ subject }) => subject.id === key.id), "the alert");

  release.resolve();
  await Promise.all(slow.map((form) => form.over));
  expect(slow.filter((form) => statusOf(form) === "answered 200").length).toBe(formCount / 2);
  const again = transcribe(greedy, "quick.mp3");
  await again.over;
  expect(statusOf(again)).toBe("answered 200");
}, 120_000);
