import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { secondsOf } from "../../../src/dialects/metered/transcriptions/sound.ts";

const folder = new URL("../../support/fixtures/sound/", import.meta.url).pathname;
const pictures = Buffer.alloc(20 * 1024 * 1024, 1);

/** As a form has it. */
function charged(whole: Buffer): number {
  const [start, end] = [whole.subarray(0, 64 * 1024), whole.subarray(-1024 * 1024)];
  return secondsOf([{ field: "file", bytes: whole.length, start, end }]);
}

function box(type: string, content: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(8 + content.length);
  header.write(type, 4, "latin1");
  return Buffer.concat([header, content]);
}

/** The duration of the headers of this kind, short as an encoder writes them. */
function withDuration(whole: Buffer, type: "mvhd" | "mdhd", ticks: number): Buffer {
  const changed = Buffer.from(whole);
  for (let at = changed.indexOf(type); at !== -1; at = changed.indexOf(type, at + 4))
    changed.writeUInt32BE(ticks, at + 20);
  return changed;
}

test("the pictures of an MP4 do not count as sound, however many they are", () => {
  for (const name of ["video.mp4", "tables-first.m4a"]) {
    const whole = readFileSync(`${folder}${name}`);
    expect(charged(Buffer.concat([whole, box("mdat", pictures)]))).toBeWithin(4.99, 5.2);
  }
});

test("a video that is longer than its sound costs the length of the sound", () => {
  const whole = withDuration(readFileSync(`${folder}tables-first.m4a`), "mvhd", 3_600_000);
  expect(charged(whole)).toBeWithin(4.99, 5.2);
});

test("an MP4 whose headers lie costs what its frames play at least", () => {
  const whole = readFileSync(`${folder}tables-first.m4a`);
  const lying = withDuration(withDuration(whole, "mvhd", 1), "mdhd", 1);
  expect(charged(Buffer.concat([lying, box("mdat", pictures)]))).toBeWithin(4.99, 5.2);
});

test("an MP4 whose sizes of frames are not there costs what its bytes can be", () => {
  const whole = readFileSync(`${folder}tables-first.m4a`);
  const count = whole.indexOf("stsz") + 12;
  whole.writeUInt32BE(whole.readUInt32BE(count) + 1, count);
  const all = Buffer.concat([whole, box("mdat", pictures)]);
  expect(charged(all)).toBe(all.length / 40_000);
});

test("fragments of a video cost a sixteenth of their bytes at least", () => {
  const whole = readFileSync(`${folder}fragments.m4a`);
  const tables = whole.indexOf("moov") - 4;
  const track = box("trak", box("mdia", box("hdlr", Buffer.from("\0\0\0\0\0\0\0\0vide", "latin1"))));
  const length = whole.readUInt32BE(tables);
  const grown = Buffer.concat([
    whole.subarray(0, tables + length),
    track,
    whole.subarray(tables + length),
    box("mdat", pictures.subarray(0, 900 * 1024)),
  ]);
  grown.writeUInt32BE(length + track.length, tables);
  expect(charged(grown)).toBeWithin(4.99, 5.2);
});

/** An element of Matroska with a length of eight bytes. */
function element(id: string, content: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(content.length));
  size[0] = 1;
  return Buffer.concat([Buffer.from(id, "hex"), size, content]);
}

function track(number: number, type: number): Buffer {
  return element("ae", Buffer.concat([element("d7", Buffer.of(number)), element("83", Buffer.of(type))]));
}

/** A packet of Opus that plays 20 ms. */
const packet = Buffer.alloc(80, 0xf8);
const sound = element("a3", Buffer.concat([Buffer.of(0x81, 0, 0, 0), packet]));

interface Video {
  readonly seconds: number;
  readonly toldSeconds: number;
  readonly pictureBytes: number;
  readonly types?: readonly number[];
}

/** Clusters of a second, each with its sound before its picture. */
function webm({ seconds, toldSeconds, pictureBytes, types = [2, 1] }: Video): Buffer {
  const told = Buffer.alloc(8);
  told.writeDoubleBE(toldSeconds * 1000);
  const info = Buffer.concat([Buffer.from("4489", "hex"), Buffer.of(0x88), told]);
  const picture = element(
    "a3",
    Buffer.concat([Buffer.of(0x82, 0, 0, 0), pictures.subarray(0, pictureBytes)]),
  );
  const cluster = element("1f43b675", Buffer.concat([...Array(50).fill(sound), picture]));
  const tracks = Buffer.concat(types.map((type, index) => track(index + 1, type)));
  const parts = [element("1549a966", info), element("1654ae6b", tracks), ...Array(seconds).fill(cluster)];
  return Buffer.concat([
    element("1a45dfa3", Buffer.alloc(8)),
    Buffer.from("1853806701ffffffffffffff", "hex"),
    ...parts,
  ]);
}

test.each([50_000, 300_000, 600_000, 1_500_000])(
  "the pictures of a WebM do not count as sound: %d bytes a second",
  (pictureBytes) => {
    const seconds = 14;
    const expected = Math.max(seconds, (seconds * pictureBytes) / 640_000);
    expect(charged(webm({ seconds, toldSeconds: seconds, pictureBytes }))).toBeWithin(
      expected,
      expected * 1.02,
    );
  },
);

test("a WebM that lies costs half of what its packets play at least, with pictures or without", () => {
  const seconds = 1200;
  for (const types of [[2, 1], [2]])
    expect(charged(webm({ seconds, toldSeconds: 1, pictureBytes: 1000, types }))).toBeWithin(590, 1300);
});

test("a WebM of sound that names a track of pictures costs what its packets play", () => {
  expect(charged(webm({ seconds: 60, toldSeconds: 1, pictureBytes: 0 }))).toBeWithin(59.9, 60.1);
});

test("a WebM with more elements than are looked at costs what its bytes can be", () => {
  const whole = webm({ seconds: 2, toldSeconds: 1, pictureBytes: 0 });
  const many = Buffer.concat([whole, Buffer.from("a380".repeat(40_000), "hex")]);
  expect(charged(many)).toBe(many.length / 500);
});
