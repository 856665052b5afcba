import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { type Browsing, browse, choosePayer, findBrowser } from "./browser.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();

const moreModels = `
[[models]]
id = "only-embeds"
provider = "demo"
serves = ["embeddings"]
price = { input = 0.02 }
[[models]]
id = "own-ranks"
provider = "demo"
serves = ["rerank"]
price = { input = 0 }
[providers.elsewhere]
kind = "openai"
api_key = "env:KEY_THAT_NOBODY_SET"
[[models]]
id = "missing-model"
provider = "elsewhere"
free = true
`;

describe.if(browserPath !== null)("the dashboard in a browser", () => {
  let sluice: Sluice;
  let browsing: Browsing;
  let page: Page;
  /** What the page complained about; a refused style or script would be here. */
  const complaints: string[] = [];

  beforeAll(async () => {
    const config = (await Bun.file("config/sluice.toml").text()) + moreModels;
    sluice = await Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().includes("status of 40"))
        complaints.push(message.text());
    });
  }, 300_000);

  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  async function openPage(name: string): Promise<void> {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }

  test("asks for the token and refuses a wrong one in words", async () => {
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").fill("not it");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Wrong admin token.").waitFor();
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(await page.evaluate("document.cookie")).not.toContain("sluice_session");
  });

  test("finds pages, models and keys from anywhere by the keyboard alone", async () => {
    const key = await sluice.createKey({ label: "Found by its label" });
    const field = page.getByRole("combobox", { name: "Search everything" });
    const find = async (text: string, option: RegExp) => {
      await field.fill(text);
      await page.getByRole("option", { name: option }).first().waitFor();
    };
    await page.keyboard.press("/");
    await find("live", /^Live tail/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Live tail" }).waitFor();
    await page.keyboard.press("Control+k");
    await find("found by", /^Found by its label/);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Found by its label" }).waitFor();
    expect(page.url()).toEndWith(`/keys/${key.id}`);
    await page.keyboard.press("/");
    await find(key.prefix, /^Found by its label/);
    await find("demo-small", /^demo-small model/);
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
  }, 60_000);

  test("does from the search what the page offers, and what other pages do", async () => {
    await sluice.createKey({ label: "Acted on" });
    const find = async (text: string, option: RegExp) => {
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.keyboard.press("/");
      await page.getByRole("combobox", { name: "Search everything" }).fill(text);
      await page.getByRole("option", { name: option }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    await find("new account", /^New account/);
    await page.getByRole("dialog", { name: "New account" }).waitFor();
    expect(page.url()).toEndWith("/admin/accounts");
    await page.keyboard.press("Escape");
    await find("Acted on", /^Acted on key/);
    await page.getByRole("heading", { level: 1, name: "Acted on" }).waitFor();
    await find("disable", /^Disable action on this page/);
    await page.getByRole("dialog", { name: "Disable Acted on?" }).waitFor();
    await page.keyboard.press("Escape");
    await find("reload", /^Reload the configuration/);
    await page.getByRole("dialog", { name: "Apply the configuration on disk?" }).waitFor();
    await page.keyboard.press("Escape");
  }, 60_000);

  test("makes a key and shows its secret once", async () => {
    await openPage("Keys");
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Label").fill("Browser test");
    await dialog.getByLabel("Starting credit").fill("1");
    // A cap that was asked for and not filled in must not come out as none.
    await dialog.getByRole("button", { name: "Add a cap" }).click();
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.locator("input:focus:invalid").waitFor();
    await dialog.getByRole("button", { name: "Remove cap 1" }).click();
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = (await dialog.locator("[data-test=secret]").textContent()) ?? "";
    expect(secret).toStartWith("slu_");
    await dialog.getByRole("button", { name: "Copy key" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("row", { name: /Browser test/ });
    expect(await row.textContent()).toContain("1.00");
    expect(await page.content()).not.toContain(secret);
  });

  for (const dialect of ["Chat completions", "Responses", "Messages"]) {
    test(`streams an answer in the playground by ${dialect}, with raw events and the cost`, async () => {
      await openPage("Playground");
      await choosePayer(page, "Browser test");
      await page.getByLabel("Route").selectOption({ label: dialect });
      const clear = page.getByRole("button", { name: "Clear" });
      if (await clear.isVisible()) await clear.click();
      await page.getByLabel("Message").fill("Say hello.");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("done", { exact: true }).waitFor();
      expect((await page.locator("[data-test=answer]").textContent())?.length).toBeGreaterThan(10);
      expect(await page.locator("[data-test=events] pre").count()).toBeGreaterThan(3);
      await page
        .locator("[data-test=cost]")
        .getByText(/^0\.0*[1-9]\d* credits$/)
        .waitFor();
    });
  }

  test("shows the spend on the overview, in the key's row and among the exchanges", async () => {
    await openPage("Overview");
    const spend = page.locator(".tile", { hasText: "Spend" }).locator("dd").first();
    await page.waitForFunction(
      (tile) => /^(<0\.0001|0\.0*[1-9])/.test(tile?.textContent ?? ""),
      await spend.elementHandle(),
    );
    await page.locator(".tile", { hasText: "Requests" }).getByText("3", { exact: true }).waitFor();
    await page.getByRole("radio", { name: "1 h" }).check();
    await page.locator(".tile", { hasText: "Requests" }).getByText("3", { exact: true }).waitFor();

    await openPage("Keys");
    const row = page.getByRole("row", { name: /Browser test/ });
    const { credit } = await sluice.cliJson<{ credit: { balance: number } }>("keys", "show", "Browser test");
    await row.getByTitle(String(credit.balance)).waitFor();
    expect(await row.locator("[data-name=Requests]").textContent()).toMatch(/^3last \d{4}-/);

    await openPage("Requests");
    await page
      .getByRole("row", { name: /Browser test/ })
      .first()
      .getByRole("link")
      .click();
    const content = page.locator("main");
    await content.getByText("measured").waitFor();
    await content.getByText("charge", { exact: true }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    expect(id).toMatch(/^req_/);
    const phases = content.getByRole("list", { name: "Timeline" }).getByRole("listitem");
    expect(await phases.allTextContents()).toContainEqual(expect.stringMatching(/^demo\/.*first byte/));

    // As a client reports it.
    await openPage("Requests");
    await page.getByLabel("Search requests").fill(` ${id} `);
    await content.getByText(id, { exact: true }).first().waitFor();
    await content.getByText("charge", { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/admin/requests/${id}`);
  });

  test("finds an exchange by the id that the client gave it", async () => {
    const key = await sluice.createKey({ label: "Named calls" });
    const body = { model: "demo-small", messages: [{ role: "user", content: "fast, say 5 words" }] };
    const headers = { "x-request-id": "ticket:4711" };
    const response = await sluice.request("/v1/chat/completions", { key, headers, body });
    const id = response.headers.get("x-request-id") ?? "";
    await waitFor(
      async () => (await sluice.cli("requests", "show", "ticket:4711")).code === 0,
      "it to be kept",
    );
    await openPage("Requests");
    await page.getByLabel("Search requests").fill("ticket:4711");
    await waitFor(async () => (await page.locator("tbody tr").count()) === 1, "the only row");
    await page.getByRole("row", { name: /Named calls/ }).click();
    await page.getByRole("heading", { name: "Request", exact: true }).waitFor();
    await page.locator("main").getByText(id, { exact: true }).first().waitFor();
  });

  test("holds a provider's bill against the ledger, and says what differs and why", async () => {
    await openPage("Reconcile");
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel("Provider").selectOption("demo");
    await page.getByLabel("From").fill(today);
    await page.getByLabel("To", { exact: true }).fill(today);
    const choose = (text: string) =>
      page
        .getByLabel("Files")
        .setInputFiles({ name: "bill.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    await choose("model,requests\nmystery-model,4\n");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("alert").getByText("date, model, input").waitFor();
    await choose(`date,model,requests,input\n${today},mystery-model,4,100\n`);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: /lines differ by more than 1%/ }).waitFor();
    const row = page.getByRole("row", { name: /mystery-model/ });
    expect(await row.textContent()).toContain("4 calls outside the gateway");
    expect(await row.locator("[data-name=Requests]").textContent()).toBe("4+4");
    await page.locator(".charts canvas").waitFor();
    await page.getByRole("row", { name: /demo-small.*missing from the report/ }).waitFor();
  });

  test("lists the exchanges before a time", async () => {
    await openPage("Requests");
    const rows = page.getByRole("row", { name: /Browser test/ });
    await rows.first().waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("Custom range");
    await page.getByLabel("To (UTC)").fill("2020-01-01T00:00");
    await page.getByText("No requests found").waitFor();
    expect(new URL(page.url()).searchParams.get("until")).toEndWith("Z");
    await page.getByLabel("To (UTC)").fill("");
    await rows.first().waitFor();
  });

  test("revokes the key, and the next call is refused", async () => {
    await openPage("Keys");
    const row = page.getByRole("row", { name: /Browser test/ });
    await row.getByLabel("Actions for Browser test").click();
    for (const name of ["Top up…", "Adjust credit…", "Edit…", "Rotate secret…", "Revoke…"]) {
      await row.getByRole("menuitem", { name, exact: true }).click();
      await page.locator("[data-test=whose]").getByText("Browser test").waitFor();
      if (name === "Revoke…") break;
      await page.keyboard.press("Escape");
      await row.getByLabel("Actions for Browser test").click();
    }
    await page.getByRole("dialog").getByRole("button", { name: "Revoke permanently" }).click();
    await row.getByText("revoked").waitFor();
    const { id } = await sluice.cliJson<{ id: string }>("keys", "show", "Browser test");
    await page.goto(`${sluice.url}/admin/playground?key=${id}`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("is revoked").waitFor();
  });

  test("asks a model's providers for a few tokens", async () => {
    await openPage("Models");
    await page.getByRole("link", { name: "demo-large" }).click();
    const card = page.locator("main");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    // The second comes before the button is shown as disabled.
    const twice = (button: { click(): void }) => {
      button.click();
      button.click();
    };
    await card.getByRole("button", { name: "Check" }).evaluate(twice);
    await card.locator(".checks").getByText("answers").waitFor();
    expect(asked.filter((path) => path.endsWith("/models/check"))).toHaveLength(1);
    await card.locator(".checks").getByText("demo/demo-large").waitFor();
  });

  test("shows the price of tokens that a model charges for, and of no others", async () => {
    await openPage("Models");
    const pricesOf = async (model: string) => {
      const row = page.getByRole("row", { name: new RegExp(`^${model}`) });
      const texts = ["Input", "Output"].map((name) => row.locator(`[data-name=${name}]`).textContent());
      return (await Promise.all(texts)).join(" ");
    };
    expect(await pricesOf("only-embeds")).toBe("$0.02 –");
    expect(await pricesOf("own-ranks")).toBe("free ");
    expect(await pricesOf("demo-text")).toBe("$0.05 $0.20");
    await page.getByRole("link", { name: "demo-small" }).click();
    await page.locator(".page-head").getByText("rerank", { exact: true }).waitFor();
  });

  test("says which models are left out, and why", async () => {
    await openPage("Models");
    const warnings = page.getByRole("list", { name: "Configuration warnings" });
    await warnings.getByText("KEY_THAT_NOBODY_SET is not set; not listed: missing-model").waitFor();
  });

  test("says on every page why no new work is taken", async () => {
    await openPage("System");
    await page.getByText("accepting requests", { exact: true }).waitFor();
    const key = await sluice.createKey({ label: "waits" });
    using other = new Database(join(sluice.folder, "data", "sluice.db"));
    other.run("BEGIN IMMEDIATE");
    const body = { model: "demo-small", messages: [{ role: "user", content: "fast" }] };
    const asking = sluice.request("/v1/chat/completions", { key, body });
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to be noticed");
    await page.reload();
    await page.getByRole("alert").getByText("The database is locked by another program.").waitFor();
    await page.getByText("not accepting requests", { exact: true }).waitFor();
    other.run("ROLLBACK");
    expect((await asking).status).toBe(200);
    await page.reload();
    await page.getByText("accepting requests", { exact: true }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("tails exchanges live", async () => {
    await openPage("Live tail");
    await page.getByText("connected").waitFor();
    const key = await sluice.createKey({ label: "tailed" });
    const before = await page.locator("[data-test=tail] tbody tr").count();
    const messages = [{ role: "user", content: "hello" }];
    await sluice.request("/v1/chat/completions", { key, body: { model: "demo-small", messages } });
    await page.locator("[data-test=tail] tbody tr").nth(before).waitFor();
    expect(await page.locator("[data-test=tail] tbody tr").first().textContent()).toContain("tailed");
  });

  test("shows a stream that failed after its start as failed, wherever its status is", async () => {
    await openPage("Live tail");
    await page.getByText("connected").waitFor();
    const key = await sluice.createKey({ label: "broken off" });
    const messages = [{ role: "user", content: "say 20 words, break, fast" }];
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "demo-small", messages, stream: true },
    });
    expect(response.status).toBe(200);
    await response.text();
    const row = page.locator("[data-test=tail] tbody tr", { hasText: "broken off" });
    await row.waitFor();
    const tones = (within: Locator) =>
      within
        .locator(".badge", { hasText: "200" })
        .evaluateAll((all) => all.map(({ className }) => className));
    expect(await tones(row)).toEqual(["badge bad"]);
    await row.getByRole("link").click();
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    const shown = await tones(page.locator("main"));
    expect(shown.length).toBeGreaterThan(1);
    expect(new Set(shown)).toEqual(new Set(["badge bad"]));
  });

  test("makes an account with caps, a key on it, raises its cap once, moves a key to it and closes it", async () => {
    const dialog = page.getByRole("dialog");
    const choose = async (place: Locator, name: string) => {
      await place.locator("summary").first().click();
      await place.getByRole("menuitem", { name, exact: true }).click();
    };
    await openPage("Accounts");
    await page.getByRole("button", { name: "New account" }).click();
    await dialog.getByLabel("Name").fill("Atlas");
    await dialog.getByRole("radio", { name: "Postpaid" }).check();
    const ofNewKeys = dialog.getByRole("group", { name: "Default caps for new keys" });
    await ofNewKeys.getByRole("button", { name: "Add a cap" }).click();
    await ofNewKeys.getByLabel("Credits").fill("5");
    await dialog.getByRole("button", { name: "Create account" }).click();
    const row = page.getByRole("row", { name: /Atlas/ });
    await row.getByText("0.00 owed").waitFor();

    await choose(row, "New key…");
    await dialog.getByLabel("Owner").fill("ada@example.com");
    await dialog.getByLabel("Label").fill("Ada's laptop");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByRole("button", { name: "Done" }).click();
    await row.getByText("ada@example.com").waitFor();

    await row.getByRole("link", { name: "Atlas" }).click();
    await page.getByRole("link", { name: "Ada's laptop" }).click();
    await page.getByText("credit key of ada@example.com, paid by").waitFor();
    await page.getByText("0.00 used of 5.00 credits per day").waitFor();
    await choose(page.locator(".page-head"), "Raise a cap once…");
    await dialog.getByLabel("Credits more").fill("2.5");
    await dialog.getByLabel("Reason").fill("release week");
    await dialog.getByRole("button", { name: "Raise" }).click();
    await page.getByText("0.00 used of 7.50 credits per day").waitFor();
    await page.getByText("raised by 2.50 until then, resets").waitFor();
    // Saving the form again does not make that the cap for good.
    await choose(page.locator(".page-head"), "Edit…");
    expect(await dialog.getByLabel("Credits").inputValue()).toBe("5");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("0.00 used of 7.50 credits per day").waitFor();

    await sluice.createKey({ label: "Wanderer" });
    await openPage("Keys");
    await choose(page.getByRole("row", { name: /Wanderer/ }), "Move to an account…");
    await dialog.getByLabel("Account").selectOption({ label: "Atlas" });
    await dialog.getByRole("button", { name: "Move" }).click();
    await dialog.waitFor({ state: "detached" });
    await openPage("Accounts");
    await row.locator("[data-name=Keys]", { hasText: /^2/ }).waitFor();

    await row.getByRole("link", { name: "Atlas" }).click();
    // Nothing was paid by this account, whatever others have spent.
    await page.getByText("No requests in the last 30 days.").waitFor();
    expect(await page.getByRole("heading", { name: /by spend/ }).count()).toBe(0);
    await page.locator(".page-head").getByRole("button", { name: "Top up" }).click();
    await dialog.getByLabel("Amount in credits").fill("3");
    await dialog.getByRole("button", { name: "Top up" }).click();
    await page.locator("[data-name=Entry]").getByText("topup").waitFor();
    await choose(page.locator(".page-head"), "Close…");
    await dialog.getByRole("button", { name: "Close permanently" }).click();
    await page.locator(".page-head").getByText("closed").waitFor();
    await page.getByText("account closed").first().waitFor();
    expect((await sluice.cliJson<{ status: string }>("keys", "show", "Wanderer")).status).toBe("disabled");
  });

  test("keeps a provider that nobody pays in sight until it answers", async () => {
    const key = await sluice.createKey({ label: "unpaid" });
    const ask = async (content: string) => {
      const body = { model: "demo-small", messages: [{ role: "user", content }] };
      await (await sluice.request("/v1/chat/completions", { key, body })).text();
    };
    await ask("fail with 402");
    await openPage("Overview");
    await page.getByRole("heading", { name: "Needs attention" }).waitFor();
    const alarm = page
      .getByRole("listitem")
      .getByText("Provider demo reports a billing problem (demo/demo-small).");
    await alarm.waitFor();
    await openPage("Models");
    await page
      .getByRole("row", { name: /^demo-small/ })
      .getByText("billing problem")
      .waitFor();
    await ask("fast");
    await openPage("Overview");
    await page.locator(".tile").first().waitFor();
    await alarm.waitFor({ state: "detached" });
  });

  test("is reachable by keyboard: the skip link, the menu, and a radio by its arrows", async () => {
    await openPage("Overview");
    await page.reload();
    await page.getByRole("radio", { name: "24 h" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.className")).toBe("skip");
    await page.getByRole("radio", { name: "24 h" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/range=7d/);
  });

  test("ran under its strict policy without a complaint", async () => {
    const policy = (await sluice.request("/admin")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(complaints).toEqual([]);
  });

  test("signs out for good", async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Admin token").waitFor();
    await page.goto(`${sluice.url}/admin/keys`);
    await page.getByLabel("Admin token").waitFor();
  });
});
