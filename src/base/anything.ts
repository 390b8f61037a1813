/** A value of which only its author knows what it is; unlike `unknown` it fits parameters that say what they take. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Anything = any;
