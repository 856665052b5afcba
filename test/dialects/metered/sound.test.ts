import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { soundInJson } from "../../../src/dialects/metered/transcriptions/json-sound.ts";
import { isWav, maxSecondsOf, secondsOf } from "../../../src/dialects/metered/transcriptions/sound.ts";
import { seededRandom } from "../../support/random.ts";

const bytes = 1_800_000;

function file(start: Uint8Array | string, size = bytes, end: Uint8Array | string = "") {
  const [first, last] = [start, end].map((part) => Buffer.from(part as string, "latin1"));
  return [{ field: "file", bytes: size, start: first ?? Buffer.of(), end: last ?? Buffer.of() }];
}

/** The start of a FLAC file, mono with 16 bits. */
function flac(perSecond: number, samples: number): Buffer {
  const start = Buffer.alloc(42);
  start.write("fLaC\0\0\0\x22", "latin1");
  start.writeUIntBE((perSecond << 4) >>> 0, 18, 3);
  start.writeUIntBE(0xf0 * 2 ** 32 + samples, 21, 5);
  return start;
}

const ogg = (codec: string) => `OggS${"\0".repeat(24)}${codec}`;

describe("the length of sound", () => {
  test.each([
    ["MP3", "ID3", 1000],
    ["anything else", "\0\0\0\0", 1000],
    ["Vorbis", ogg("\x01vorbis"), 1000],
    ["Opus", ogg("OpusHead"), 500],
    ["Speex", ogg("Speex   "), 500],
    ["AMR", "#!AMR\n", 500],
    ["FLAC", "fLaC", 500],
    ["WebM", "\x1aE\xdf\xa3", 500],
    ["MP4", "\0\0\0\x20ftypM4A ", 500],
    ["compressed WAV", "RIFF\0\0\0\0WAVEfmt ", 500],
    ["a kind that does not show", "", 500],
  ])("of %s that does not say it follows from its lowest rate", (_, start, least) => {
    expect(maxSecondsOf(file(start))).toBe(bytes / least);
    expect(secondsOf(file(start))).toBe(bytes / least);
    expect(secondsOf([...file(start), ...file(start)])).toBe((bytes / least) * 2);
    expect(secondsOf(file(start, 2 ** 30))).toBe((2 ** 20 * 25) / least);
    expect(isWav(file(start))).toBe(false);
  });

  test.each([16_000, 44_100, 655_350])(
    "of silent FLAC is what it declares, at %p samples a second",
    (rate) => {
      const silent = file(flac(rate, rate * 36_000));
      expect(maxSecondsOf(silent)).toBe(36_000);
      expect(secondsOf(silent)).toBe(36_000);
    },
  );

  test("of FLAC is not less than it can be, nor more than any file's", () => {
    for (const untold of [flac(16_000, 0), flac(0, 16_000)]) {
      expect(maxSecondsOf(file(untold))).toBe(3600);
      expect(secondsOf(file(untold))).toBe(3600);
    }
    const lying = file(flac(16_000, 1));
    expect(maxSecondsOf(lying)).toBe(3600);
    expect(secondsOf(lying)).toBe(bytes / 288_000);
    const endless = file(flac(1, 2 ** 36 - 1));
    expect(secondsOf(endless)).toBe((2 ** 20 * 25) / 500);
  });
});

const folder = new URL("../../support/fixtures/sound/", import.meta.url).pathname;
const names = readdirSync(folder).sort();
const read = (name: string) => readFileSync(`${folder}${name}`);

/** As a form has it. */
function sent(whole: Buffer) {
  return file(whole.subarray(0, 65_536), whole.length, whole.subarray(-(2 ** 20)));
}

/** MPEG 1, layer 3, 44,100 samples a second: the bytes of a frame and its header, by kbit/s. */
const mp3Frames = { 320: [1044, "fffbe000"], 32: [104, "fffb1000"] } as const;
function mp3(kilobits: keyof typeof mp3Frames, seconds: number, counted = 0): Buffer {
  const [length, header] = mp3Frames[kilobits];
  const count = Math.round((seconds * 44_100) / 1152);
  const all = Buffer.alloc(length * count);
  for (let at = 0; at < all.length; at += length) all.write(header, at, "hex");
  if (counted > 0)
    all.write(`Xing\0\0\0\x01${String.fromCharCode(0, 0, counted >>> 8, counted & 255)}`, 36, "latin1");
  return all;
}

function patched(name: string, mark: string, at: number, bytes: readonly number[]): Buffer {
  const whole = read(name);
  for (
    let found = whole.indexOf(mark, 0, "latin1");
    found !== -1;
    found = whole.indexOf(mark, found + 1, "latin1")
  )
    Buffer.from(bytes).copy(whole, found + at);
  return whole;
}

describe("the length that a file says is charged:", () => {
  test.each(names)("%s plays for five seconds", (name) => {
    expect(secondsOf(sent(read(name)))).toBeWithin(4.99, 5.2);
    expect(maxSecondsOf(sent(read(name)))).toBeGreaterThanOrEqual(5);
    expect(isWav(sent(read(name)))).toBe(false);
  });

  test.each([32, 320] as const)("MP3 of %d kbit/s that is only looked at in parts", (kilobits) => {
    for (const counted of [0, 2297 * 10]) {
      expect(secondsOf(sent(mp3(kilobits, 600, counted)))).toBeWithin(599, 601);
    }
  });

  test("fragments of an MP4 that are only looked at in parts", () => {
    const whole = read("fragments.m4a");
    const at = whole.indexOf("moof") - 4;
    const [tables, fragments] = [whole.subarray(0, at), whole.subarray(at)];
    const recorded = Array.from({ length: 180 }, (_, turn) => {
      const again = Buffer.from(fragments);
      for (let found = again.indexOf("tfdt"); found !== -1; found = again.indexOf("tfdt", found + 4))
        again.writeBigUInt64BE(again.readBigUInt64BE(found + 8) + BigInt(turn * 5 * 44_100), found + 8);
      return again;
    });
    expect(secondsOf(sent(Buffer.concat([tables, ...recorded])))).toBeWithin(899, 901);
    const large = Buffer.concat([whole, Buffer.from("\0\x20\0\0mdat", "latin1"), Buffer.alloc(2 ** 21)]);
    expect(secondsOf(sent(large))).toBeWithin(5, large.length / 500 - 1);
  });

  test("MP3 behind a picture", () => {
    const picture = Buffer.alloc(200_010, 0xff);
    picture.write("ID3\x04\0\0\0\x0c\x1a\x40", "latin1");
    for (const seconds of [5, 600]) {
      expect(secondsOf(sent(Buffer.concat([picture, mp3(32, seconds)])))).toBeWithin(
        seconds - 1,
        seconds + 1,
      );
    }
  });

  test("silence, which has hardly any bytes", () => {
    const rate = 16_000;
    expect(secondsOf(file(flac(rate, rate * 7200), 1000))).toBe(7200);
    expect(maxSecondsOf(file(flac(rate, rate * 7200), 1000))).toBe(7200);
  });
});

describe("a length that was made up does not make a file shorter than its bytes:", () => {
  test.each<[string, Buffer, number]>([
    ["one frame in the note of an MP3", patched("vbr.mp3", "Xing", 8, [0, 0, 0, 1]), 5],
    ["a note of one frame in a long MP3", mp3(32, 600, 1), 299],
    ["pages of Opus without samples", patched("opus.ogg", "OggS", 6, [1, 0, 0, 0, 0, 0, 0, 0]), 4.9],
    [
      "pages of Vorbis without samples",
      patched("vorbis.ogg", "OggS", 6, [1, 0, 0, 0, 0, 0, 0, 0]),
      7117 / 40_000,
    ],
    ["an MP4 of a millisecond", patched("tables-last.m4a", "mvhd", 20, [0, 0, 0, 1]), 79 * 0.02],
    [
      "fragments that all begin at once",
      patched("fragments.m4a", "tfdt", 8, [0, 0, 0, 0, 0, 0, 0, 0]),
      214 * 0.02,
    ],
    ["fragments behind tables with frames", read("tables-and-fragments.m4a"), 5],
    ["FLAC of one sample", patched("plain.flac", "fLaC", 21, [0xf0, 0, 0, 0, 1]), 4.9],
    ["WebM of nothing", patched("opus.webm", "\x44\x89\x88", 3, [0, 0, 0, 0, 0, 0, 0, 1]), 5227 / 40_000],
  ])("%s", (_, whole, least) => {
    expect(secondsOf(sent(whole))).toBeGreaterThanOrEqual(least);
  });

  test("frames of MP3 at the end of another kind do not tell its length", () => {
    for (const start of ["#!AMR\n", "adts", "\xff\xf1\x50\x80"]) {
      const whole = Buffer.concat([Buffer.from(start, "latin1"), Buffer.alloc(2_000_000, 1), mp3(320, 20)]);
      expect(secondsOf(sent(whole))).toBe(maxSecondsOf(sent(whole)));
    }
  });

  test("a fragment within the sound does not hide another, nor do too many", () => {
    const whole = read("fragments.m4a");
    const at = whole.indexOf("moof") - 4;
    const decoy = Buffer.from("\0\x10\0\0moof", "latin1");
    const hidden = Buffer.concat([whole.subarray(0, at), decoy, whole.subarray(at)]);
    expect(secondsOf(sent(hidden))).toBeWithin(4.99, 5.2);
    const many = Buffer.concat([whole.subarray(0, at), Buffer.alloc(900_000, decoy), whole.subarray(at)]);
    expect(secondsOf(sent(many))).toBe(many.length / 500);
    const cut = Buffer.concat([whole.subarray(0, at), Buffer.alloc(2 ** 21, "moof")]);
    expect(secondsOf(sent(cut))).toBe(cut.length / 500);
  });

  test("tables within another box of an MP4 are not read", () => {
    const tables = read("tables-first.m4a");
    const at = tables.indexOf("moov") - 4;
    const decoy = Buffer.concat([Buffer.from("\0\x01\0\0free", "latin1"), tables.subarray(at)]);
    const whole = Buffer.concat([tables.subarray(0, at), decoy, Buffer.alloc(65_536 - decoy.length)]);
    expect(secondsOf(sent(whole))).toBe(whole.length / 500);
  });
});

test("whatever is cut off or changed in a file, its length is one that its bytes can have", () => {
  const { below } = seededRandom(43);
  for (const name of names) {
    const whole = read(name);
    for (let turn = 0; turn < 60; turn += 1) {
      const part = Buffer.from(whole.subarray(0, 1 + below(whole.length)));
      for (let change = 0; change < 4; change += 1) part[below(part.length)] = below(256);
      const [seconds, most] = [secondsOf(sent(part)), maxSecondsOf(sent(part))];
      expect(seconds).toBeWithin(part.length / 288_000, most + 1);
      expect(most).toBeWithin(part.length / 1000, 25 * 2 ** 20);
    }
  }
});

describe("sound in JSON", () => {
  const inJson = (body: string) =>
    soundInJson({ bytes: Buffer.from(body), truncated: JSON.parse(body), body: JSON.parse(body) });
  const bodyOf = (data: string) => JSON.stringify({ model: "m", input_audio: { format: "x", data } });
  const sound = mp3(32, 600, 22_969);

  test.each([0, 1, 2])("plays as long as in a form, whatever its last characters are (%d)", (more) => {
    const whole = Buffer.concat([sound, Buffer.alloc(more)]);
    const [found] = inJson(bodyOf(whole.toString("base64")));
    expect(secondsOf(found ? [found] : [])).toBeWithin(599, 601);
    expect(Math.abs((found?.bytes ?? 0) - whole.length)).toBeLessThan(3);
  });

  test.each([
    ["an address", bodyOf(`data:audio/mp4;base64,${sound.toString("base64")}`)],
    ["other letters", bodyOf("-_".repeat(9000))],
    ["nothing", bodyOf("")],
    ["escapes", bodyOf(sound.toString("base64")).replace(/"}}$/, '\\/"}}')],
    ["no text", '{"input_audio":{"data":5}}'],
    ["no object", '{"input_audio":[{"data":"AAAA"}]}'],
  ])("is of any kind, and as long as the body, if it is %s", (_, body) => {
    const found = inJson(body);
    expect(found.map(({ bytes: size, start }) => [size, start.length])).toEqual([
      [Math.ceil(body.length * 0.75), 0],
    ]);
    expect(maxSecondsOf(found)).toBe(Math.ceil(body.length * 0.75) / 500);
  });

  test("that is named twice is refused: the provider may hear the other", () => {
    for (const body of [
      '{"input_audio":{"data":"AAAA","data":"BBBB"}}',
      '{"input_audio":{},"input_audio":{"data":"AAAA"}}',
    ])
      expect(() => inJson(body)).toThrow();
  });

  test("is none where there is none", () => {
    expect(inJson("{}")).toEqual([]);
  });
});
