import { describe, expect, test } from "bun:test";
import { soundInJson } from "../../../src/dialects/metered/transcriptions/json-sound.ts";
import { isWav, secondsOf } from "../../../src/dialects/metered/transcriptions/sound.ts";

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
    ["MP3", "ID3", 1000, 16_000],
    ["anything else", "\0\0\0\0", 1000, 16_000],
    ["Vorbis", ogg("\x01vorbis"), 1000, 16_000],
    ["Opus", ogg("OpusHead"), 500, 4000],
    ["Speex", ogg("Speex   "), 500, 2000],
    ["AMR", "#!AMR\n", 500, 1600],
    ["FLAC", "fLaC", 500, 16_000],
    ["WebM", "\x1aE\xdf\xa3", 500, 16_000],
    ["MP4", "\0\0\0\x20ftypM4A ", 500, 16_000],
    ["compressed WAV", "RIFF\0\0\0\0WAVEfmt ", 500, 16_000],
    ["a kind that does not show", "", 500, 16_000],
  ])("of %s follows from its lowest rate and its usual one", (_, start, least, usual) => {
    expect(secondsOf(file(start), "least")).toBe(bytes / least);
    expect(secondsOf(file(start), "usual")).toBe(bytes / usual);
    expect(secondsOf([...file(start), ...file(start)], "least")).toBe((bytes / least) * 2);
    expect(secondsOf(file(start, 2 ** 30), "least")).toBe((2 ** 20 * 25) / least);
    expect(isWav(file(start))).toBe(false);
  });

  test.each([16_000, 44_100, 655_350])(
    "of silent FLAC is what it declares, at %p samples a second",
    (rate) => {
      const silent = file(flac(rate, rate * 36_000));
      expect(secondsOf(silent, "least")).toBe(36_000);
      expect(secondsOf(silent, "usual")).toBe(36_000);
    },
  );

  test("of FLAC is not less than it can be, nor more than any file's", () => {
    for (const untold of [flac(16_000, 0), flac(0, 16_000)]) {
      expect(secondsOf(file(untold), "least")).toBe(3600);
      expect(secondsOf(file(untold), "usual")).toBe(112.5);
    }
    const lying = file(flac(16_000, 1));
    expect(secondsOf(lying, "least")).toBe(3600);
    expect(secondsOf(lying, "usual")).toBe(bytes / 288_000);
    const endless = file(flac(1, 2 ** 36 - 1));
    expect(secondsOf(endless, "usual")).toBe((2 ** 20 * 25) / 500);
  });
});

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const number = (value: number, size: 4 | 8 = 4) => {
  const written = Buffer.alloc(8);
  written.writeBigUInt64BE(BigInt(value));
  return written.subarray(8 - size);
};

/** MPEG 1, layer 3, 44,100 samples a second: the bytes of a frame and its header, by kbit/s. */
const mp3Frames = { 320: [1044, "fffbe000"], 128: [417, "fffb9000"], 32: [104, "fffb1000"] } as const;
const frames = (kilobits: keyof typeof mp3Frames, count: number, first = "") => {
  const [length, header] = mp3Frames[kilobits];
  const frame = Buffer.alloc(length);
  hex(header).copy(frame);
  const all = Buffer.concat(Array.from({ length: count }, () => frame));
  all.write(first, 36, "latin1");
  return all;
};
const counted = (count: number, mark = "Xing") =>
  mark + Buffer.concat([number(1), number(count)]).toString("latin1");

const page = (samples: bigint) => {
  const written = Buffer.alloc(27);
  written.write("OggS");
  written.writeBigInt64LE(samples, 6);
  return written;
};
const oggHead = (codec: string, at: number, perSecond: number) => {
  const head = Buffer.alloc(100);
  head.write(ogg(codec), "latin1");
  head.writeUInt32LE(perSecond, at);
  return head;
};

const mvhd = (perSecond: number, duration: number) =>
  Buffer.concat([
    Buffer.from("....mvhd"),
    number(0),
    number(0),
    number(0),
    number(perSecond),
    number(duration),
    Buffer.alloc(80),
  ]);
const longMvhd = (perSecond: number, duration: number) =>
  Buffer.concat([
    ...[Buffer.from("....mvhd"), hex("01000000"), number(0, 8), number(0, 8)],
    ...[number(perSecond), number(duration, 8), Buffer.alloc(80)],
  ]);
const mp4 = (...parts: readonly Buffer[]) => Buffer.concat([Buffer.from("\0\0\0\x20ftypM4A "), ...parts]);

const webm = (...elements: readonly string[]) => hex(`1a45dfa3 ${elements.join("")}`);

/** Its 200th block of 4,096 samples, with its checksum, before bytes that look like frames and are none. */
const pipedFlac = () => {
  const start = flac(16_000, 0);
  start.writeUInt16BE(4096, 10);
  return [start, hex("000000 fff8c508c38744 0000 fff8c508c38700 fff9")] as const;
};

describe("the length that a file declares is charged, and held for if it is longer:", () => {
  const declared = 7200;
  test.each<[string, Uint8Array, Uint8Array | string, number]>([
    ["MP3 of 128 kbit/s", frames(128, 4), "", bytes / 16_000],
    ["MP3 of 32 kbit/s", frames(32, 4), "", bytes / 4000],
    ["MP3 of 320 kbit/s", frames(320, 4), "", bytes / 40_000],
    ["MP3 behind a picture", Buffer.from("ID3"), frames(32, 9), bytes / 4000],
    ["MP3 whose frames are counted", frames(320, 4, counted(2000)), "", (2000 * 1152) / 44_100],
    ["MP3 of a constant rate", frames(128, 4, counted(4307, "Info")), "", (4307 * 1152) / 44_100],
    ["Opus", oggHead("OpusHead", 40, 16_000), Buffer.concat([page(48_000n * 7200n), page(-1n)]), declared],
    ["Vorbis", oggHead("\x01vorbis", 40, 22_050), page(22_050n * 7200n), declared],
    ["Speex", oggHead("Speex", 64, 8000), page(8000n * 7200n), declared],
    ["MP4", mp4(mvhd(1000, 7_200_000)), "", declared],
    ["MP4 with its tables last", mp4(), longMvhd(44_100, 44_100 * 7200), declared],
    [
      "WebM",
      webm(
        "1549a966 80 2ad7b1 83 0f4240 4489 88",
        Buffer.from(new Float64Array([7_200_000]).buffer)
          .reverse()
          .toString("hex"),
      ),
      "",
      declared,
    ],
    [
      "WebM of a recorder",
      webm("1549a966 80 2ad7b1 83 0f4240"),
      hex(`1f43b675 ff e7 83 36ee80 ${"00".repeat(890)}`),
      (3600 * bytes) / (bytes - 900),
    ],
    ["FLAC from a pipe", ...pipedFlac(), (200 * 4096) / 16_000],
  ])("%s", (_, start, end, seconds) => {
    const sound = file(start, bytes, end);
    expect(secondsOf(sound, "usual")).toBeCloseTo(seconds, 6);
    expect(secondsOf(sound, "least")).toBeGreaterThanOrEqual(secondsOf(sound, "usual"));
  });

  test.each<[string, Uint8Array, Uint8Array | string, number]>([
    ["MP3 of 32 kbit/s with one frame in its note", frames(32, 4, counted(1)), "", bytes / 4000],
    [
      "MP3 of 32 kbit/s with as few as it could have at 256",
      frames(32, 4, counted(2153)),
      "",
      bytes / 16_000,
    ],
    ["MP3 of 320 kbit/s with one frame in its note", frames(320, 4, counted(1)), "", bytes / 40_000],
    ["Opus", oggHead("OpusHead", 40, 16_000), page(1n), bytes / 4000],
    ["Vorbis", oggHead("\x01vorbis", 40, 22_050), page(1n), bytes / 16_000],
    ["Speex", oggHead("Speex", 64, 8000), page(1n), bytes / 2000],
    ["MP4", mp4(mvhd(1000, 1)), "", bytes / 16_000],
    ["WebM", webm("4489 84 3f800000"), "", bytes / 16_000],
    ["AMR that ends with frames of MP3", Buffer.from("#!AMR\n"), frames(320, 4), bytes / 1600],
    ["another kind that ends with them", Buffer.from("adts"), frames(320, 4), bytes / 16_000],
  ])("but a shorter one that was made up is not: %s", (_, start, end, seconds) => {
    expect(secondsOf(file(start, bytes, end), "usual")).toBeCloseTo(seconds, 6);
  });

  test("also of silence, which has hardly any bytes", () => {
    const seconds = (start: Uint8Array, end: Uint8Array) => secondsOf(file(start, 1000, end), "least");
    expect(seconds(...pipedFlac())).toBe((200 * 4096) / 16_000);
    expect(seconds(oggHead("OpusHead", 40, 0), page(48_000n * 7200n))).toBe(7200);
    expect(seconds(mp4(), mvhd(1000, 7_200_000))).toBe(7200);
  });

  test("but not if it makes no sense", () => {
    const nonsense: readonly (readonly [Uint8Array, Uint8Array])[] = [
      [mp4(mvhd(0, 7)), Buffer.of()],
      [mp4(Buffer.from("mvhd")), Buffer.of()],
      [oggHead("Speex", 64, 0), page(7n)],
      [oggHead("OpusHead", 40, 0), Buffer.concat(Array.from({ length: 200 }, () => page(-1n)))],
      [flac(16_000, 0), Buffer.concat(Array.from({ length: 200 }, () => hex("fff8")))],
      [webm("4489 88"), hex("1f43b675")],
      [frames(128, 1), frames(128, 2)],
    ];
    for (const [start, end] of nonsense) {
      expect(secondsOf(file(start, bytes, end), "usual")).toBeLessThanOrEqual(bytes / 2000);
      expect(secondsOf(file(start, bytes, end), "least")).toBeLessThanOrEqual(bytes / 500);
    }
  });
});

describe("sound in JSON", () => {
  const inJson = (body: string) =>
    soundInJson({ bytes: Buffer.from(body), truncated: JSON.parse(body), body: JSON.parse(body) });
  const bodyOf = (data: string) => JSON.stringify({ model: "m", input_audio: { format: "x", data } });
  const sound = Buffer.concat([mp4(), Buffer.alloc(300_000), mvhd(1000, 7_200_000)]);

  test.each([0, 1, 2])("plays as long as in a form, whatever its last characters are (%d)", (more) => {
    const whole = Buffer.concat([sound, Buffer.alloc(more)]);
    const [found] = inJson(bodyOf(whole.toString("base64")));
    expect(secondsOf(found ? [found] : [], "usual")).toBe(7200);
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
    expect(secondsOf(found, "least")).toBe(Math.ceil(body.length * 0.75) / 500);
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
