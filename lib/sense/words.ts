/** Texts that are no secrets: placeholders out of documents, and passwords that everybody tries first. */

const PLACEHOLDER =
  /^[<{[(].*[>})\]]$|^\$|^%.*%$|\byour\b|^your[-_a-z]|[-_]your[-_]|x{4,}|\*{3,}|\.{3}|…|(?:replace|change|fill|insert|put)[-_ ]?(?:me|this|it|here|in)|placeholder|^(?:sk-)?(?:todo|tbd|none|null|undefined|dummy|fake|test|secret|example|sample|key|api[-_]?key|token|password|abc|foo|bar|1234\d*)(?:[-_]?(?:key|token|secret))?$|(?:^|[-_])(?:api[-_]?key|key)[-_]here$|^sk-(?:ant-|proj-|or-)?$/i

/** Whether a key was never filled in. */
export const isPlaceholder = (key: string): boolean => PLACEHOLDER.test(key)

const COMMON = new Set([
  'admin',
  'administrator',
  'admintoken',
  'admintoken123',
  'adminadmin',
  'admin123',
  'admin1234',
  'changeit',
  'changeme',
  'changemenow',
  'changethis',
  'default',
  'defaulttoken',
  'gateway',
  'gatewayadmin',
  'gatewaysecret',
  'gatewaytoken',
  'hunter2',
  'iloveyou',
  'letmein',
  'masterkey',
  'mysecret',
  'mysecretkey',
  'password',
  'password1',
  'password123',
  'passw0rd',
  'qwerty',
  'qwerty123',
  'qwertyui',
  'root',
  'rootroot',
  'secret',
  'secretkey',
  'secret123',
  'secrettoken',
  'sk1234',
  'supersecret',
  'test',
  'testtest',
  'testtoken',
  'token',
  'tokentoken',
  'welcome',
  'welcome1',
  'youradmintoken',
])

/** Whether it is a token that stands in documents and lists, so that strangers try it. */
export const isDefaultToken = (token: string): boolean =>
  COMMON.has(token.toLowerCase().replace(/[-_.!@# ]/g, '')) ||
  isPlaceholder(token) ||
  isRun(token) ||
  new Set(token).size < 3

/** `12345678`, `abcdefgh`: each character follows the one before it. */
const isRun = (text: string): boolean =>
  [...text].every((char, i) => i === 0 || (char.charCodeAt(0) - text.charCodeAt(i - 1) + 10) % 10 === 1)

const LEAST_LETTERS = 12

/** Whether a token could be guessed although it stands in no list. */
export const isWeakToken = (token: string): boolean => token.length < LEAST_LETTERS || new Set(token).size < 6
