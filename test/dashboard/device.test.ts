import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { Sluice } from "../support/sluice.ts";
import { type Browsing, browse, findBrowser } from "./browser.ts";
import { violations } from "./violations.ts";

const browserPath = await findBrowser();

const config = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "crowd", cap = "5/day" }

[providers.demo]
kind = "demo"

[[models]]
id = "m"
provider = "demo"
free = true
`;

describe.if(browserPath !== null)("the page that approves a terminal", () => {
  let sluice: Sluice;
  let browsing: Browsing;
  let page: Page;

  beforeAll(async () => {
    sluice = await Sluice.start({ config });
    await sluice.cliJson(..."accounts create --mode credit --label crowd --postpaid".split(" "));
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
  }, 60_000);
  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  const send = async (path: string, form: Readonly<Record<string, string>>) => {
    const headers = { "x-forwarded-for": "192.0.2.7" };
    const response = await fetch(sluice.url + path, {
      method: "POST",
      body: new URLSearchParams({ client_id: "sluice-cli", ...form }),
      headers,
    });
    return (await response.json()) as Record<string, string>;
  };
  const begin = () => send("/oauth/device_authorization", { device_name: "a laptop" });
  const poll = (code: string) =>
    send("/oauth/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: code,
    });

  test("asks who is not signed in to sign in, and for no secret", async () => {
    const begun = await begin();
    await page.goto(begun["verification_uri_complete"] ?? "");
    await page.getByRole("heading", { name: "Sign in to continue" }).waitFor();
    expect(await page.locator("input").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  }, 60_000);

  test("says which address asked and what to beware of, and approves", async () => {
    await page.setExtraHTTPHeaders({ "x-forwarded-email": "dora@example.com" });
    const begun = await begin();
    await page.goto(begun["verification_uri_complete"] ?? "");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("192.0.2.7").waitFor();
    const text = await page.locator("main").textContent();
    for (const part of [
      "“a laptop”",
      "not the address that you are using now",
      "sluice login",
      begun["user_code"],
    ])
      expect(text).toContain(part ?? "?");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "Approved" }).waitFor();
    expect((await poll(begun["device_code"] ?? ""))["access_token"]).toStartWith("slu_");
  }, 60_000);

  test("says which program wants to work in your name, and signs it in", async () => {
    await page.setExtraHTTPHeaders({ "x-forwarded-email": "dora@example.com" });
    const begun = await send("/oauth/device_authorization", { client_id: "", surface: "claude_code" });
    await page.goto(begun["verification_uri_complete"] ?? "");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("192.0.2.7").waitFor();
    const text = await page.locator("main").textContent();
    expect(text).toContain("Claude Code on 192.0.2.7 wants to work in your name");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("it is signed in now").waitFor();
    const tokens = await send("/oauth/token", {
      client_id: "",
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: begun["device_code"] ?? "",
    });
    expect(tokens["refresh_token"]).toStartWith("slr_");
  }, 60_000);

  test("takes a typed code, says that a wrong one is wrong, and denies", async () => {
    const begun = await begin();
    await page.goto(begun["verification_uri"] ?? "");
    await page.getByLabel("Code").fill("BBBB-BBBB");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("No program is waiting for this code").waitFor();
    await page.getByLabel("Code").fill((begun["user_code"] ?? "").toLowerCase());
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Denied" }).waitFor();
    expect((await poll(begun["device_code"] ?? ""))["error"]).toBe("access_denied");
  }, 60_000);
});
