import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Sluice } from "../../support/sluice.ts";
import { findBrowser } from "../browser.ts";
import { rulesOfColor, violations } from "../violations.ts";
import { layoutFaults } from "./layout.ts";
import {
  artistAt,
  comparePicture,
  fileNameOf,
  finishUpdate,
  incomparable,
  isUpdating,
  storedPictures,
  unusedPictures,
} from "./pictures.ts";
import { type State, statesOf } from "./states.ts";
import { Viewers } from "./viewers.ts";
import { idsIn, startCrowded, startEmpty } from "./world.ts";

const browserPath = await findBrowser();
const height = 900;
/** Neither a phone's nor a desk's. It has the same elements and colors as these. */
const between = 820;
/** Dark at one width, because only colors depend on it. The last look is what the page goes back to. */
const looks = [
  { width: between, scheme: "light" },
  { width: 390, scheme: "light" },
  { width: 1440, scheme: "dark" },
  { width: 1440, scheme: "light" },
] as const;

const artist = browserPath === null ? null : await artistAt(browserPath);
const gap = artist === null || isUpdating ? null : await incomparable(artist);
const hasPictures = artist !== null && gap === null;
if (gap !== null) {
  const advice = "They are compared where SLUICE_TEST_BROWSER is that browser.";
  console.warn(
    `\nSKIPPED: ${storedPictures().length} pictures of the dashboard, because ${gap}. ${advice}\n`,
  );
}

describe.if(browserPath !== null)("every page and state", () => {
  let gateways: { readonly empty: Sluice; readonly crowded: Sluice };
  let viewers: Viewers;
  let states: readonly State[];
  let looked: Promise<Looked> | undefined;

  beforeAll(async () => {
    const [empty, crowded] = await Promise.all([startEmpty(), startCrowded()]);
    gateways = { empty, crowded };
    viewers = new Viewers(browserPath ?? "", gateways);
    states = statesOf(await idsIn(crowded));
  }, 120_000);

  afterAll(async () => {
    await viewers[Symbol.asyncDispose]();
    for (const gateway of Object.values(gateways)) await gateway.dispose();
  });

  /** Looks at everything once, for the rules and for the pictures. */
  function lookAtAll(): Promise<Looked> {
    looked ??= look();
    return looked;
  }

  async function look(): Promise<Looked> {
    const faults = new Set<string>();
    const changes: string[] = [];
    const pictures = new Set<string>();
    for (const state of states) {
      if (isUpdating && state.hasPicture !== true) continue;
      const page = await viewers.show(state);
      for (const look of looks) {
        await show(page, look);
        const found = isUpdating || look.scheme === "dark" ? [] : await layoutFaults(page);
        if (!isUpdating && isForAxe(look, state)) found.push(...(await violations(page, axeRules(look))));
        for (const fault of found) faults.add(`${state.name} at ${look.width}, ${look.scheme}: ${fault}`);
        if (!hasPictures || state.hasPicture !== true) continue;
        const picture = fileNameOf(state.name, look.width, look.scheme);
        pictures.add(picture);
        const change = await comparePicture(page, picture);
        if (change !== null) changes.push(change);
      }
    }
    return { faults, changes, pictures };
  }

  test("keeps the rules of the layout and of accessibility at three widths, light and dark", async () => {
    const { faults } = await lookAtAll();
    expect([...faults]).toEqual([]);
  }, 600_000);

  test.if(hasPictures)(
    `looks as before in ${storedPictures().length} pictures`,
    async () => {
      const { changes, pictures } = await lookAtAll();
      expect(changes).toEqual([]);
      if (isUpdating && artist !== null) await finishUpdate(pictures, artist);
      expect(unusedPictures(pictures)).toEqual([]);
    },
    600_000,
  );

  test("is held to the rules: the self-service page without its own width breaks them", async () => {
    const selfService = states.find(({ name }) => name === "self-service, a pasted key");
    if (selfService === undefined) throw new Error("There is no such state.");
    const page = await viewers.show(selfService);
    expect(await layoutFaults(page)).toEqual([]);
    // As it was from 1b9b1ecb to d31e4295: its rules had another name, and it got the narrow column of the navigation.
    await page.evaluate(`for (const sheet of document.styleSheets) {
      for (let at = sheet.cssRules.length - 1; at >= 0; at -= 1)
        if (sheet.cssRules[at].selectorText?.includes(".self-service")) sheet.deleteRule(at);
      sheet.insertRule("#app { display: grid; grid-template-columns: 216px minmax(0, 1fr); }");
    }`);
    const faults = await layoutFaults(page);
    expect(faults.filter((fault) => fault.startsWith(".self-service main is 216 px wide"))).not.toEqual([]);
    expect(faults.length).toBeGreaterThan(5);
  }, 60_000);
});

type Look = (typeof looks)[number];

interface Looked {
  /** Broken rules, in sentences. */
  readonly faults: ReadonlySet<string>;
  /** What differs from the stored pictures, in sentences. */
  readonly changes: readonly string[];
  readonly pictures: ReadonlySet<string>;
}

/** Phones have the elements of desks, in other places: some states stand for all of them there. */
function isForAxe({ width }: Look, { hasPicture }: State): boolean {
  return width === 1440 || (width === 390 && hasPicture === true);
}

function axeRules({ scheme }: Look): readonly string[] | undefined {
  return scheme === "dark" ? rulesOfColor : undefined;
}

/** Charts follow the width of their place a moment later. */
const drawn = `new Promise((resolve) => {
  const isFitting = (chart) => Math.abs(chart.getBoundingClientRect().width - chart.parentElement.clientWidth) < 1;
  const look = () => {
    const charts = [...document.querySelectorAll(".stacked > svg, .plot > .uplot")];
    if (charts.every(isFitting)) requestAnimationFrame(resolve);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

async function show(page: Page, { width, scheme }: Look): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  await page.evaluate(drawn);
}
