import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { UsageView } from "../../src/admin/reports/schema.ts";
import type { StorageView } from "../../src/admin/system/schema.ts";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { type Browsing, browse, chooseBy, findBrowser } from "./browser.ts";
import { startSample } from "./sample.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();

describe.if(browserPath !== null)("a month of a company's traffic in the dashboard", () => {
  let sluice: Sluice;
  let key: TestKey;
  let browsing: Browsing;
  let page: Page;

  beforeAll(async () => {
    sluice = await startSample(token);
    key = await sluice.createKey({ label: "Ours" });
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    await signIn(page, token);
  }, 300_000);

  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  async function signIn(on: Page, secret: string): Promise<void> {
    await on.goto(`${sluice.url}/admin`);
    await on.getByLabel("Admin token").fill(secret);
    await on.keyboard.press("Enter");
    await on.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  }

  async function open(on: Page, path: string): Promise<void> {
    await on.goto(`${sluice.url}/admin/${path}`);
    await on.getByRole("heading", { level: 1 }).waitFor();
    await on.locator(".skeleton").first().waitFor({ state: "detached" });
    await on.locator("main:not(.settling)").waitFor();
  }

  test("a viewer is offered no change on any page, and an admin is", async () => {
    const viewer = await sluice.cliJson<{ token: string }>(
      ..."admin-tokens create --label auditor --role viewer".split(" "),
    );
    await using other = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    const theirs = await other.context.newPage();
    theirs.setDefaultTimeout(20_000);
    await signIn(theirs, viewer.token);
    const changes = /^(New key|New account|New cap|Check|Top up|Rotate|Edit|Reload)$|^Actions for/;
    const offered = async (on: Page) =>
      (await on.getByRole("button", { name: changes }).count()) + (await on.locator("summary").count());
    for (const path of ["keys", `keys/${key.id}`, "accounts", "models/gpt-5.6", "system"]) {
      await open(page, path);
      expect(await offered(page), `an admin, ${path}`).toBeGreaterThan(0);
      await open(theirs, path);
      expect(await offered(theirs), `a viewer, ${path}`).toBe(0);
    }
  }, 120_000);

  test("exchanges are searched for, within a month, and downloaded as they are listed", async () => {
    const month = new Date().toISOString().slice(0, 7);
    await open(page, "requests");
    await page.getByLabel("Search requests").fill("ada@example");
    await page.waitForURL(/search=/);
    await page.getByLabel("Time", { exact: true }).selectOption({ index: 4 });
    await page.getByLabel("Outcome").selectOption("failed");
    await page.locator("tbody tr").first().waitFor();
    const address = new URL(page.url());
    const time = await page.getByLabel("Time", { exact: true }).inputValue();
    expect(address.searchParams.get("since")).toBe(month);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const [head = "", ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split("\r\n");
    expect(head).toStartWith("id,entry,at,ended_at,key_id");
    const labels = new Set(lines.map((line) => line.split(",")[6]));
    expect([...labels]).toEqual(["Mobile app"]);
    for (const line of lines) expect(line).toContain(",failed,");
    const printed = await sluice.cliJson<readonly { id: string }[]>(
      ...["requests", "list", "--search", "ada@example", "--since", month, "--outcome", "failed"],
    );
    expect(lines.map((line) => line.split(",")[0])).toEqual(printed.map(({ id }) => id));
    await page.goto(address.href);
    await waitFor(async () => (await page.locator("tbody tr").count()) === lines.length, "the same rows");
    expect(await page.getByLabel("Search requests").inputValue()).toBe("ada@example");
    expect(await page.getByLabel("Time", { exact: true }).inputValue()).toBe(time);
  }, 120_000);

  test("keys are found by their owner, sorted and limited to a mode, and the address keeps it", async () => {
    await open(page, "keys?sort=label&mode=credit&search=e");
    const labels = () => page.locator("tbody td.lead a").allTextContents();
    const shown = await labels();
    expect(shown).toEqual(shown.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
    expect(shown).not.toContain("Nightly evals");
    await page.getByLabel("Search keys").fill("ada@");
    await waitFor(async () => (await labels()).join() === "Mobile app", "the only key of that owner");
    expect(await page.getByLabel("Order").inputValue()).toBe("label");
  }, 120_000);

  test("a key's page shows its spend, its entries by kind, and what is done most often", async () => {
    await open(page, `keys/${key.id}`);
    await page.getByText("No requests in the last 30 days.").waitFor();
    await page.getByText("Send a request with this key, or from the playground").waitFor();
    await page.getByRole("button", { name: "Top up", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount in credits").fill("2");
    await dialog.getByRole("button", { name: "Top up" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByLabel("Kind of entry").selectOption("Top-ups");
    await page.getByRole("row", { name: /topup.*2\.00/ }).waitFor();
    await page.getByLabel("Kind of entry").selectOption("Charges");
    await page.getByText("No entries of this kind.").waitFor();
    await page.getByLabel("Actions for Ours").click();
    await page.getByRole("menuitem", { name: "Edit…", exact: true }).click();
    await chooseBy(dialog, "Models", "gpt-5.6");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.locator(".tile", { hasText: "Models" }).getByText("gpt-5.6").waitFor();
    await page.getByLabel("Actions for Ours").click();
    await page.getByRole("menuitem", { name: "Disable…" }).click();
    await dialog.getByRole("heading", { name: "Disable Ours?" }).waitFor();
    await dialog.getByText(/Every new request with slu_.* is rejected/).waitFor();
    await dialog.getByRole("button", { name: "Disable" }).click();
    await page.locator(".page-head").getByText("disabled").waitFor();
  }, 120_000);

  test("a model's row and page tell how its calls of the last day ended, and lead to them", async () => {
    await open(page, "models");
    const row = page.getByRole("row", { name: /^claude-opus-5/ });
    await row.getByText("$25.00").waitFor();
    await row.getByRole("link").click();
    const tile = (name: string) => page.locator(".tile", { hasText: name });
    await tile("Succeeded")
      .getByText(/^\d+(\.\d)?%$/)
      .waitFor();
    await tile("Spend, 24 h")
      .getByText(/\d+% of input cached/)
      .waitFor();
    await tile("Requests, 24 h").getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("claude-opus-5");
    expect(await page.getByLabel("Time", { exact: true }).inputValue()).toBe("Last 24 hours");
  }, 120_000);

  test("a model's page has every price by its name", async () => {
    await open(page, "models/claude-opus-5");
    for (const line of [
      "web search $10.00 per thousand calls",
      "Output, priority tier $50.00 per million tokens",
      "Input, above 200,000 tokens $10.00 per million tokens",
    ])
      await page.getByRole("row", { name: line, exact: true }).waitFor();
  });

  test("the live tail shows only what is asked for, and says that it hides the rest", async () => {
    const asker = await sluice.createKey({ label: "Asker" });
    await open(page, "tail?outcome=rejected");
    await page.getByText("connected", { exact: true }).waitFor();
    const ask = async (model: string) => {
      const body = { model, messages: [{ role: "user", content: "Hello" }] };
      await (await sluice.request("/v1/chat/completions", { key: asker, body })).text();
    };
    await ask("gpt-5.6");
    await page.getByText("The filters hide 1 of the newest lines.").waitFor();
    await ask("nobody's");
    await page.getByRole("row", { name: /404/ }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.getByLabel("Outcome").selectOption("Any outcome");
    await page.getByLabel("Filter lines").fill("GPT-5");
    await page.getByRole("row", { name: /gpt-5\.6/ }).waitFor();
    await waitFor(async () => (await page.locator("tbody tr").count()) === 1, "the line of that model alone");
  }, 120_000);

  test("the configuration on disk is checked, compared and put in force", async () => {
    const file = join(sluice.folder, "sluice.toml");
    const before = await Bun.file(file).text();
    const card = page.locator("section.card", { has: page.getByRole("heading", { name: "On disk" }) });
    const check = () => card.getByRole("button", { name: "Check again" }).click();
    await open(page, "system");
    const inForce = page.getByLabel("Running configuration");
    await inForce.getByText('id = "house-model"').waitFor();
    await card.getByText("matches the running configuration.").waitFor();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain("[providers.together]");

    await Bun.write(file, `[server]\nnode = 5\n${before}`);
    await check();
    const problems = card.getByRole("list", { name: "Problems in the file" });
    await problems
      .getByText(/^server\.node \(line 2\): must be a string of 1 to \d+ characters, not 5/)
      .waitFor();
    expect(await card.getByRole("button", { name: "Reload" }).isDisabled()).toBe(true);

    const changed = `[server]\nnode = "fra-9"\n${before.replace('"GPT-5.6"', '"GPT 5.6"')}`;
    await Bun.write(file, changed);
    await check();
    await card.getByText("differs from the running configuration: 2 changes.").waitFor();
    await card.getByRole("row", { name: /server\.node needs a restart added/ }).waitFor();
    await card.getByRole("row", { name: /"gpt-5\.6", display_name changed "GPT-5\.6" "GPT 5\.6"/ }).waitFor();
    await card.getByRole("button", { name: "Reload" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 of them waits for a restart.").waitFor();

    // The file changes while an operator reads the difference.
    await Bun.write(file, before.replace('"GPT-5.6"', '"Another"'));
    await dialog.getByRole("button", { name: "Reload" }).click();
    await dialog.getByText("The file has changed since it was checked").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await card.getByText("differs from the running configuration: 1 change.").waitFor();
    await Bun.write(file, changed);
    await check();
    await card.getByText("differs from the running configuration: 2 changes.").waitFor();
    await card.getByRole("button", { name: "Reload" }).click();
    await dialog.getByRole("button", { name: "Reload" }).click();
    await card
      .getByRole("status")
      .getByText(/, 1 change$/)
      .waitFor();
    await card.getByText("server.node has changed; that needs a restart").waitFor();
    await card.getByText("differs from the running configuration: 1 change.").waitFor();
    await inForce.getByText('display_name = "GPT 5.6"').waitFor();
    await page.getByRole("row", { name: /config\.reload.*changed model "gpt-5\.6", display_name/ }).waitFor();
    await Bun.write(file, before);
  }, 120_000);

  test("what is kept, how long and how large it is stands on the System page", async () => {
    const { records, retention } = await sluice.cliJson<StorageView>("store", "size");
    await open(page, "system");
    await page.getByText(/^The database uses [\d.]+ MiB, its journal [\d.]+ [KM]iB; [\d.]+ [GT]iB/).waitFor();
    const entries = records.ledger_entries.toLocaleString("en");
    await page.getByRole("row", { name: `Ledger entries ${entries} forever –` }).waitFor();
    const free = `Requests without a charge .* ${retention.request_days} days, at most`;
    await page.getByRole("row", { name: new RegExp(free) }).waitFor();
  }, 120_000);

  test("an account's statement of a month is told and saved as the command line has it", async () => {
    const { id } = await sluice.cliJson<{ id: string }>("accounts", "show", "Product teams");
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
    const printed = await sluice.cli("statement", "--month", month, "--account", id, "--csv");
    await open(page, `accounts/${id}`);
    await page.getByText("the month is not over").waitFor();
    await page.getByLabel("Month", { exact: true }).selectOption(month);
    await page
      .getByText(
        /^opening balance 0\.00 · −[\d.]+ credits this month · closing balance −([\d.]+) · amount due \1$/,
      )
      .waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`Product teams ${month}.csv`);
    const saved = (await Bun.file(await download.path()).text()).trimEnd().split("\r\n");
    expect(saved.length).toBeGreaterThan(3);
    expect(saved).toEqual(printed.stdout.trimEnd().split("\n"));
  }, 120_000);

  test("changes are searched for and limited to a time, and the address keeps it", async () => {
    const { prefix } = await sluice.createKey({ label: "Looked for" });
    await open(page, "system");
    const rows = page
      .locator("section", { has: page.getByRole("heading", { name: "Audit log", exact: true }) })
      .locator("tbody tr");
    await page.getByLabel("Search the audit log").fill(prefix);
    await waitFor(async () => (await rows.count()) === 1, "the one change that is like this");
    expect(await rows.first().textContent()).toContain("key.create");
    await page.getByLabel("Time", { exact: true }).selectOption("Last 24 hours");
    await page.reload();
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    expect(await page.getByLabel("Search the audit log").inputValue()).toBe(prefix);
    await page.goto(`${sluice.url}/admin/system?until=2020-01`);
    await page.getByText("No matching records.").waitFor();
  }, 120_000);

  test("usage is told apart by two things, within a month, as the command line has it", async () => {
    const month = new Date().toISOString().slice(0, 7);
    await open(page, "reports");
    await page.getByLabel("Time", { exact: true }).selectOption({ index: 4 });
    await page.getByLabel("By", { exact: true }).selectOption("by key");
    await page.getByLabel("And by").selectOption("by model");
    await page.getByRole("columnheader", { name: "key, model" }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const [head = "", ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split("\r\n");
    const names = head.split(",");
    expect(names.slice(0, 3)).toEqual(["key", "model", "recorded_requests"]);
    const told = await sluice.cliJson<{ data: readonly { spend: number }[]; total: { spend: number } }>(
      ...["usage", "--by", "key,model", "--since", month],
    );
    const spends = lines.map((line) => Number(line.split(",")[names.indexOf("spend")]));
    expect(spends).toEqual(told.data.map(({ spend }) => spend));
    const refused = lines.filter((line) => Number(line.split(",")[names.indexOf("rejected")]) > 0);
    expect(refused).not.toEqual([]);
    expect(await page.locator("tbody tr", { hasText: "rejected" }).count()).toBe(refused.length);
    expect(await page.locator("tbody tr").count()).toBe(lines.length);
    await page.locator(".tile", { hasText: "Saved by caching" }).waitFor();
    await page.getByLabel("Filter by key").fill("Mobile app");
    await waitFor(async () => (await page.locator("tbody tr").count()) === 3, "its three models");
    await page.getByLabel("By", { exact: true }).selectOption("by tag");
    await page.getByLabel("Tag name").waitFor();
    expect(new URL(page.url()).searchParams.get("by")).toBe("tag:project,model");
  }, 120_000);

  test("usage over time adds up to what the command line has, and shows one group alone by a click", async () => {
    const told = await sluice.cliJson<UsageView>("usage", "--by", "model", "--since", "30d");
    const headers = { authorization: `Bearer ${token}` };
    const path = `/admin/api/v1/usage?by=model&chart=day&since=${told.since}&until=${told.until}`;
    const { chart } = (await (await sluice.request(path, { headers })).json()) as UsageView;
    const nano = (credits: number) => Math.round(credits * 1e9);
    for (const { name, spend, recorded_requests: requests } of told.data) {
      const points = chart?.series.find((series) => series.name === name)?.points ?? [];
      expect(
        points.reduce((sum, point) => sum + nano(point.spend), 0),
        name,
      ).toBe(nano(spend));
      expect(
        points.reduce((sum, point) => sum + point.recorded_requests, 0),
        name,
      ).toBe(requests);
    }
    const before = await sluice.cliJson<UsageView>(
      ...["usage", "--since", new Date(2 * Date.parse(told.since) - Date.parse(told.until)).toISOString()],
      ...["--until", told.since],
    );
    expect(chart?.before_total.spend).toBe(before.total.spend);
    await open(page, "reports?by=model&since=30d");
    expect(await page.locator(".stacked rect").count()).toBeGreaterThan(60);
    await page.getByRole("row", { name: /^house-model/ }).hover();
    await page.locator(".stacked g[opacity='0.22']").first().waitFor();
    await page.getByRole("link", { name: "house-model" }).click();
    await waitFor(async () => (await page.locator("tbody tr").count()) === 1, "the only row");
    await page.getByRole("radio", { name: "Input" }).check();
    await page.reload();
    await page.getByRole("heading", { name: "Input by day" }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.getByRole("link", { name: "house-model" }).click();
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("house-model");
    await open(page, "reports?by=nonsense&since=7d&step=eon");
    await page
      .getByText(
        /`by` is one of .* This is the last week by model\.|chart.* This is the last week by model\./,
      )
      .waitFor();
    await page.getByRole("heading", { name: "Spend by day" }).waitFor();
  }, 120_000);

  test("usage of more groups than a page has is shown page by page, and downloaded whole", async () => {
    const by = "hour,key,model";
    const { data } = await sluice.cliJson<UsageView>("usage", "--by", by, "--since", "60d");
    expect(data.length).toBeGreaterThan(1_000);
    await open(page, `reports?by=${by}&since=60d`);
    const first = page.locator("tbody tr").first();
    const begin = await first.textContent();
    expect(await page.locator("tbody tr").count()).toBe(100);
    await page.getByRole("button", { name: "Next page" }).click();
    await waitFor(async () => (await first.textContent()) !== begin, "the second page");
    expect(await first.textContent()).toStartWith(data[100]?.name ?? "");
    expect(await page.locator("tbody tr").count()).toBe(100);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const [, ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split("\r\n");
    expect(lines.length).toBe(data.length);
    await page.getByRole("button", { name: "First page" }).click();
    await waitFor(async () => (await first.textContent()) === begin, "the first page");
  }, 120_000);

  test("the agents of a session are a tree above its requests, each linked to its requests", async () => {
    const asker = await sluice.createKey({ label: "Agents of Claude Code" });
    const body = { model: "gpt-5.6", messages: [{ role: "user", content: "Hello" }] };
    const ask = (headers: Record<string, string>) =>
      sluice.request("/v1/chat/completions", {
        key: asker,
        headers: { "x-claude-code-session-id": "s1", ...headers },
        body,
      });
    const first = await ask({});
    await ask({ "x-claude-code-agent-id": "a1" });
    const child = { "x-claude-code-agent-id": "a2", "x-claude-code-parent-agent-id": "a1" };
    for (const headers of [child, child]) await ask(headers);
    const agentsOf = () => sluice.cliJson<readonly object[]>("requests", "list", "--session", "s1");
    await waitFor(async () => (await agentsOf()).length === 4, "all four to be kept");
    await page.goto(`${sluice.url}/admin/requests/${first.headers.get("x-request-id")}`);
    await page.getByRole("link", { name: "s1", exact: true }).click();
    const tree = page.locator("section").filter({ hasText: "Agents of this session" });
    await tree.getByRole("link", { name: "a2" }).waitFor();
    const shown = await tree.locator("tbody tr").allTextContents();
    expect(
      shown.map((row) =>
        row
          .slice(0, -1)
          .match(/^(Main conversation|a\d)(\d)/)
          ?.slice(1),
      ),
    ).toEqual([
      ["Main conversation", "1"],
      ["a1", "1"],
      ["a2", "2"],
    ]);
    const left = async (name: string) => (await tree.getByText(name, { exact: true }).boundingBox())?.x ?? 0;
    expect(await left("a1")).toBeGreaterThan(await left("Main conversation"));
    expect(await left("a2")).toBeGreaterThan(await left("a1"));
    await tree.getByRole("link", { name: "a2" }).click();
    await waitFor(
      async () => (await page.locator(".card").last().locator("tbody tr").count()) === 2,
      "its requests",
    );
  }, 120_000);
});
