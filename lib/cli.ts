/** The command line. Each command loads only what it needs, because the start counts. */
import { enableCompileCache, flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

// in the checkout, not in a folder that others can write to; without write permission nothing is cached
enableCompileCache(`${ROOT}node_modules/.cache/gateway`)
const { run } = await import('./cli/run.ts')
await run(process.argv.slice(2), ROOT)
flushCompileCache() // a process that is killed one day leaves a fast next start all the same
