/** The command line, started by `bin/gateway`. */
import { flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { SUPERVISED, supervise } from './process/supervise.ts'

const args = process.argv.slice(2)
if (args[0] === 'serve' && process.env[SUPERVISED] === undefined) supervise(args)
else await (await import('./cli/run.ts')).run(args, fileURLToPath(new URL('..', import.meta.url)))
flushCompileCache() // now and not at the end, which a process that is killed does not see
