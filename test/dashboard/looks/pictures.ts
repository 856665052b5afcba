import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import pixelmatch from "pixelmatch";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { encodeIndexed, pixelsOf, roundColors } from "./indexed-png.ts";

const stored = join(import.meta.dir, "pictures");
/** Pictures that differ are put here, each with the difference. */
const found = join(import.meta.dir, "../../../dist/pictures");
/** Storing pictures does nothing else. */
export const isUpdating = process.env["UPDATE_GOLDEN"] === "1";

/** The browser that drew the stored pictures. */
const artistFile = join(import.meta.dir, "drawn-by.json");

/** Browsers, their versions and systems differ in how they draw letters. */
export interface Artist {
  readonly browser: string;
  readonly version: string;
  readonly system: string;
}

export async function artistAt(browserPath: string): Promise<Artist> {
  const said = await Bun.$`${browserPath} --version`.nothrow().quiet().text();
  const version = /\d+(?:\.\d+){3}/.exec(said)?.[0] ?? "of no known version";
  return { browser: basename(browserPath), version, system: process.platform };
}

/** Why the stored pictures say nothing about what this browser draws; null if they do. */
export async function incomparable(artist: Artist): Promise<string | null> {
  const before: Artist = await Bun.file(artistFile).json();
  if (Bun.deepEquals(artist, before)) return null;
  return `they were drawn by ${nameOf(before)}, and this is ${nameOf(artist)}`;
}

function nameOf({ browser, version, system }: Artist): string {
  return `${browser} ${version} on ${system}`;
}

/** The share of pixels that may differ. */
const tolerance = 0.002;

/** What is another one in each run: ids, secrets, codes and the port. */
const veil = `{
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const masked = (text) => text
    .replaceAll(/\\b(slu_|acc_|own_|key_|req_|session )(\\w+)/g, (_, kind, id) => kind + "0".repeat(id.length))
    .replaceAll(/127\\.0\\.0\\.1:\\d+/g, "127.0.0.1:40000")
    .replaceAll(/\\b[A-Z]{4}-[A-Z]{4}\\b/g, "BCDF-GHJK");
  while (walker.nextNode()) {
    const text = masked(walker.currentNode.data);
    if (text !== walker.currentNode.data) walker.currentNode.data = text;
  }
  for (const field of document.querySelectorAll("input")) field.value = masked(field.value);
}`;

export function fileNameOf(state: string, width: number, colorScheme: string): string {
  return `${state.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}-${width}-${colorScheme}.png`;
}

/** What is different from the stored picture, in a sentence; null if nothing is, or if it was just stored. */
export async function comparePicture(page: Page, name: string): Promise<string | null> {
  await page.evaluate(veil);
  const picture = PNG.sync.read(await page.screenshot({ animations: "disabled" }));
  roundColors(picture);
  const path = join(stored, name);
  if (isUpdating) {
    await Bun.write(path, encodeIndexed(picture) ?? PNG.sync.write(picture, { colorType: 2 }));
    return null;
  }
  if (!existsSync(path)) return `There is no ${name}. ${advice}`;
  return difference(picture, PNG.sync.read(readFileSync(path)), name);
}

const advice = "UPDATE_GOLDEN=1 bun test test/dashboard/looks stores what the pages look like now.";

async function difference(picture: PNG, before: PNG, name: string): Promise<string | null> {
  const { width, height, data } = picture;
  if (before.width !== width || before.height !== height) return `${name} has another size. ${advice}`;
  // What it finds is among these, and it takes much longer to look.
  if (countOther(picture, before) <= tolerance * width * height) return null;
  const changes = new PNG({ width, height });
  const count = pixelmatch(before.data, data, changes.data, width, height, { threshold: 0.15 });
  const share = count / (width * height);
  if (share <= tolerance) return null;
  await Bun.write(join(found, name), PNG.sync.write(picture));
  await Bun.write(join(found, name.replace(".png", ".changes.png")), PNG.sync.write(changes));
  return `${name} differs in ${(100 * share).toFixed(2)}% of its pixels: see dist/pictures. ${advice}`;
}

function countOther(picture: PNG, before: PNG): number {
  const [now, then] = [pixelsOf(picture), pixelsOf(before)];
  let count = 0;
  for (let at = 0; at < now.length; at += 1) if (now[at] !== then[at]) count += 1;
  return count;
}

export function storedPictures(): readonly string[] {
  return existsSync(stored) ? readdirSync(stored) : [];
}

/** Stored pictures that nothing looks like any more. */
export function unusedPictures(names: ReadonlySet<string>): readonly string[] {
  return storedPictures().filter((name) => !names.has(name));
}

/** The last step of an update. */
export async function finishUpdate(names: ReadonlySet<string>, artist: Artist): Promise<void> {
  for (const name of unusedPictures(names)) rmSync(join(stored, name));
  await Bun.write(artistFile, `${JSON.stringify(artist, null, 2)}\n`);
}
