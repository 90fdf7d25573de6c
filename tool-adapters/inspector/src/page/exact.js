// JSON that keeps numbers as they were written.

/** A number whose text a JavaScript number does not have, such as `1.0` or 9007199254740993. */
export class ExactNumber {
  constructor(source) {
    this.source = source;
  }

  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.source) : Number(this.source);
  }

  toString() {
    return this.source;
  }

  valueOf() {
    return Number(this.source);
  }
}

function exactly(_, value, context) {
  const isChanged =
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
  return isChanged ? new ExactNumber(context.source) : value;
}

export const parseJson = (text) => JSON.parse(text, exactly);

export const pretty = (value) => JSON.stringify(value, null, 2) ?? "";

/** Returns a value of JSON on one line: a text as it is, and others as JSON. */
export const inline = (value) => (typeof value === "string" ? value : JSON.stringify(value));

export const isObject = (value) =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/** Formats JSON for reading. A text that is not JSON stays as it is. */
export function readable(text) {
  try {
    return pretty(parseJson(text));
  } catch {
    return String(text);
  }
}
