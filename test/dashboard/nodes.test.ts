import { describe, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../support/postgres.ts";
import { startSluice } from "../support/sluice.ts";
import { browse, findBrowser } from "./browser.ts";

const token = "slua_of-all-nodes";
const browserPath = await findBrowser();

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe.if(browserPath !== null)("the System page of gateways on PostgreSQL", () => {
    test("lists all of them, whichever is asked, and leaves out one that has stopped", async () => {
      const postgres = sharedPostgres();
      const env = {
        SLUICE_STORE: postgres.url(await postgres.createDatabase()),
        SLUICE_ADMIN_TOKEN: token,
      };
      const start = (name: string) =>
        startSluice({
          config: configFor({
            url: "http://127.0.0.1:9",
            head: `[server]
node = "${name}"`,
          }),
          env,
        });
      await using first = await start("fra-1");
      await using second = await start("fra-2");
      await using browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
      const page = await browsing.context.newPage();
      page.setDefaultTimeout(30_000);
      await page.goto(`${first.url}/admin`);
      await page.getByLabel("Admin token").fill(token);
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "System" }).click();
      const nodes = page
        .locator("section", { has: page.getByRole("heading", { name: "Nodes" }) })
        .locator("tbody tr");
      await nodes.nth(1).waitFor();
      const cells = (name: string) => nodes.locator(`[data-name="${name}"]`).allTextContents();
      expect((await cells("Node")).map((text) => text.split(" ")[0]).toSorted()).toEqual(["fra-1", "fra-2"]);
      expect(await cells("State")).toEqual(["live", "live"]);
      expect(await cells("Holds")).toEqual(["0", "0"]);
      await second.stop();
      await page.reload();
      await nodes.first().waitFor();
      expect((await cells("Node")).map((text) => text.split(" ")[0])).toEqual(["fra-1"]);
    }, 120_000);
  });
