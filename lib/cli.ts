/** The command line, started by `bin/gateway`. */
import { flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { run } from './cli/run.ts'

await run(process.argv.slice(2), fileURLToPath(new URL('..', import.meta.url)))
flushCompileCache() // now and not at the end, which a process that is killed does not see
