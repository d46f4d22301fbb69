// The filter language of the list of draws:
//   ps=6 and written>1000 and blend      writes:0x113000      changes:SAMPLER_STATE      not finding
// Words without a comparison are flags of a draw, or a part of its name, topology or target.

const TOKEN = /\s*(?:([()])|(<=|>=|!=|==?|<|>)|"([^"]*)"|([^\s()<>=!"]+))/y;
const COMPARE = {
  "=": (a, b) => a === b, "==": (a, b) => a === b, "!=": (a, b) => a !== b,
  "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
};
const TEXTS = ["name", "topology", "target", "group"];

function tokens(text) {
  const found = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex, m = TOKEN.exec(text);
    if (!m) throw new Error(`invalid filter at '${text.slice(at).trim()}'`);
    found.push(m[1] ?? m[2] ?? m[3] ?? m[4]);
  }
  return found;
}

// A predicate of the number of a draw.  Throws an Error with a message for the user.
export function compile(text, rows, flags) {
  const words = tokens(text);
  let at = 0;
  const isWord = word => words[at]?.toLowerCase() === word;
  const numbers = Object.keys(rows).filter(name => typeof rows[name]?.[0] === "number");

  function either() {
    let left = both();
    while (isWord("or")) {
      at++;
      const [a, b] = [left, both()];
      left = draw => a(draw) || b(draw);
    }
    return left;
  }

  function both() {
    let left = one();
    while (at < words.length && words[at] !== ")" && !isWord("or")) {
      if (isWord("and")) at++;
      const [a, b] = [left, one()];
      left = draw => a(draw) && b(draw);
    }
    return left;
  }

  function one() {
    if (isWord("not")) {
      at++;
      const inner = one();
      return draw => !inner(draw);
    }
    if (words[at] === "(") {
      at++;
      const inner = either();
      if (words[at++] !== ")") throw new Error("a ) is missing");
      return inner;
    }
    return term();
  }

  function term() {
    const word = words[at++];
    if (word === undefined || word === ")" || COMPARE[word]) throw new Error("a condition is missing, such as written>0");
    if (COMPARE[words[at]]) return comparison(word.toLowerCase(), COMPARE[words[at++]], words[at++]);
    const colon = word.indexOf(":");
    if (colon > 0) return prefixed(word.slice(0, colon).toLowerCase(), word.slice(colon + 1));
    const flag = word.toLowerCase();
    if (flags.includes(flag)) return draw => rows.flags[draw].includes(flag);
    const wanted = flag.toUpperCase();
    return draw => TEXTS.some(name => (rows[name]?.[draw] ?? "").toUpperCase().includes(wanted));
  }

  function comparison(name, compare, value) {
    if (value === undefined || value === ")") throw new Error(`a value is missing after '${name}'`);
    if (TEXTS.includes(name)) return draw => compare((rows[name]?.[draw] ?? "").toUpperCase(), value.toUpperCase());
    const number = Number(value);
    if (Number.isNaN(number)) throw new Error(`invalid number '${value}'`);
    if (!numbers.includes(name)) throw new Error(`unknown column '${name}' (known: ${numbers.join(", ")})`);
    return draw => compare(rows[name][draw], number);
  }

  function prefixed(name, value) {
    if (name === "changes") {
      const wanted = value.toUpperCase();
      return draw => rows.changed[draw].some(block => block.toUpperCase().startsWith(wanted));
    }
    if (name !== "reads" && name !== "writes")
      throw new Error(`unknown condition '${name}:' (known: changes:, reads:, writes:)`);
    const address = Number(value);
    if (Number.isNaN(address)) throw new Error(`invalid address '${value}'`);
    return draw => rows[name][draw].includes(address);
  }

  if (!words.length) return () => true;
  const found = either();
  if (at < words.length) throw new Error(`'${words[at]}' is not expected here`);
  return found;
}
