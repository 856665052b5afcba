/** What models write, in the scripts and forms that tokenizers treat differently. */
export const ordinaryTexts = {
  English:
    "The water rises behind the gate and waits until the lock is level; then the boats move on in their own time, and the keeper writes down who has passed. Nevertheless, internationalization isn't straightforward, don't you think?",
  German:
    "Die Donaudampfschifffahrtsgesellschaft hat heute bekanntgegeben, dass die Fahrpläne wegen außergewöhnlicher Wetterverhältnisse angepasst werden müssen.",
  TypeScript:
    'export function decode(bytes: Uint8Array, options: DecodeOptions = {}): string {\n  if (bytes.length === 0) return "";\n  const decoder = new TextDecoder(options.encoding ?? "utf-8");\n  for (let i = 0; i < bytes.length; i++) { out[i] = (bytes[i] & 0xff) ^ key[i % key.length]; }\n  return decoder.decode(bytes);\n}',
  Python:
    "def main(argv):\n    parser = argparse.ArgumentParser(description='Process some integers.')\n    parser.add_argument('integers', metavar='N', type=int, nargs='+')\n    return sum(x**2 for x in args.integers)\n",
  JSON: '{"city":"Paris","temperature":22.5,"days":[{"day":"Mon","hi":21,"lo":12},{"day":"Tue","hi":22,"lo":13}],"id":"a8f3e2c1"}',
  Chinese: "水在闸门后面上涨，等待船闸水位持平；然后船只按照自己的时间继续前进，管理员记下谁通过了。",
  Japanese: "水門の後ろで水位が上がり、閘門が水平になるまで待ちます。その後、船はそれぞれの時間に進みます。",
  Korean: "수문 뒤의 물이 차오르고 갑문이 수평이 될 때까지 기다린 다음 배들은 제 시간에 움직입니다.",
  Russian:
    "Вода поднимается за воротами и ждёт, пока шлюз не выровняется; затем лодки движутся дальше в своё время.",
  Arabic: "يرتفع الماء خلف البوابة وينتظر حتى يستوي القفل ثم تتحرك القوارب في وقتها الخاص.",
  Hindi: "पानी गेट के पीछे बढ़ता है और तब तक इंतजार करता है जब तक ताला समतल न हो जाए।",
  Thai: "น้ำขึ้นหลังประตูและรอจนกว่าประตูน้ำจะเสมอกัน แล้วเรือก็เคลื่อนไปตามเวลาของมัน",
  emoji: "Great job! 🎉🎉🚀 Let's go 🏃‍♂️💨 and celebrate 🥳🎂 with everybody 😀",
  numbers: "3.14159265358979323846264338327950288419716939937510 and 1,000,000 or 2026-11-16T13:37:59Z",
  base64:
    "SGVsbG8gd29ybGQsIHRoaXMgaXMgYSBiYXNlNjQgc3RyaW5nIHdpdGggc29tZSBsZW5ndGggdG8gaXQgc28gdGhhdCBpdCBtYXR0ZXJz",
  Markdown: "## Heading\n\n- **bold** item\n- `code` item\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
  SQL: "SELECT a.no, sum(b.amount) AS total FROM accounts a JOIN entries b ON b.account_no = a.no WHERE a.mode = 'credit' GROUP BY 1;",
} as const;
