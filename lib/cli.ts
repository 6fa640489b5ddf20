/** The first file of the program, started by `bin/gateway`: `serve` begins as a supervisor, every other command runs at once. */
import { flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { SUPERVISED, supervise } from './process/supervise.ts'

// what the gateway writes, the books and journals among it, is for its own user only
process.umask(0o077)
const args = process.argv.slice(2)
if (args[0] === 'serve' && process.env[SUPERVISED] === undefined) supervise(args)
else await (await import('./cli/run.ts')).runCommand(args, fileURLToPath(new URL('..', import.meta.url)))
flushCompileCache() // Node does this at the end of a process, but a gateway may be killed
