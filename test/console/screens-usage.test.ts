/** `npm run screens` says how it is called. This stands apart from the other scripts because it needs a package of `npm run test:install`. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { wantUsage } from '../support/script-usage.ts'

t.test('screens', async t => wantUsage(t, 'screens', fileURLToPath(import.meta.resolve('./screens.ts'))))
