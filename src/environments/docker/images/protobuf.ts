/** One field of a message in the wire format of protocol buffers; numbers and nested bytes are all we need. */
export interface ProtobufField {
  readonly number: number;
  readonly value: number | Buffer;
}

/** The fields of a message in their order; what is cut off or of another kind ends the list. */
export function* readProtobuf(message: Buffer): Generator<ProtobufField> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; at < message.length; shift *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === 0) yield { number, value: varint() };
    else if (kind === 2) {
      const length = varint();
      yield { number, value: message.subarray(at, at + length) };
      at += length;
    } else if (kind === 1 || kind === 5) at += kind === 1 ? 8 : 4;
    else return;
  }
}

/** A message of fields that hold bytes or text. */
export function writeProtobuf(fields: readonly { readonly number: number; readonly value: Buffer | string }[]): Buffer {
  const parts = fields.flatMap(({ number, value }) => {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    return [encodeVarint(number * 8 + 2), encodeVarint(bytes.length), bytes];
  });
  return Buffer.concat(parts);
}

/** The first field of that number as text; empty when there is none. */
export function protobufText(message: Buffer, number: number): string {
  for (const field of readProtobuf(message)) {
    if (field.number === number && typeof field.value !== "number") return field.value.toString("utf8");
  }
  return "";
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) + 128);
  }
}
