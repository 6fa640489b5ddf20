import t from 'tap'
import { exitCodeOf, explain } from '../../lib/cli/failure.ts'
import { OperationError } from '../../lib/operations/error.ts'
import { StoreConflict, StoreUnavailable } from '../../lib/store/base/errors.ts'
import { ConfigError } from '../../lib/config/yaml.ts'

const ROWS: [error: unknown, code: number, text: RegExp][] = [
  [new OperationError('invalid', 'limit: expected a number'), 2, /^gateway: limit: expected a number$/],
  [new OperationError('missing', 'there is no account a'), 3, /^gateway: there is no account a$/],
  [new OperationError('gone', 'it has ended'), 3, /^gateway: it has ended$/],
  [new OperationError('forbidden', 'not allowed'), 4, /^gateway: not allowed$/],
  [new OperationError('conflict', 'it is there'), 5, /^gateway: it is there$/],
  [new OperationError('throttled', 'later'), 1, /^gateway: later$/],
  [new StoreConflict('it is there'), 5, /^gateway: it is there$/],
  [new StoreUnavailable('gone'), 1, /^gateway: the store cannot be used: gone/],
  [new ConfigError(['c.yaml: wrong']), 1, /^c\.yaml: wrong$/],
  [new TypeError('a bug'), 1, /^TypeError: a bug\n/],
]
for (const [error, code, text] of ROWS) {
  t.equal(exitCodeOf(error), code, String(error))
  t.match(explain(error), text)
}
