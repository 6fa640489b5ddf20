/**
 * Starts a private single-node server of OceanBase's engine for a test. `.ci/oceanbase` downloads the engine. Without
 * it the tests that need it do not run, and `npm test` says so at its end.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MysqlServer, startServer, statement } from './mysql-server.ts'
import { freePort } from './ports.ts'

const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
/** Where `.ci/oceanbase` unpacks the server; its shared libraries are in the same folder. */
const LIBRARIES = join(cache, 'gateway/oceanbase/pylibseekdb')
const SERVER = join(LIBRARIES, 'seekdb')
const PARAMETERS = ['datafile_size=2G', 'log_disk_size=2G', 'memory_limit=4G']

export const OCEANBASE_MISSING = existsSync(SERVER)
  ? null
  : "OceanBase's engine is not on this machine, and its tests did not run: .ci/oceanbase fetches it"

export async function startOceanbase(): Promise<MysqlServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-oceanbase-'))
  const port = await freePort()
  // The server listens on every address, whatever its options say, and root begins without a password.
  const password = randomBytes(12).toString('hex')
  const parameters = PARAMETERS.flatMap(parameter => ['--parameter', parameter])
  let sealed = false
  return startServer({
    command: SERVER,
    args: ['--nodaemon', '-P', String(port), '--base-dir', folder, '--log-level', 'ERROR', ...parameters],
    env: { ...process.env, LD_LIBRARY_PATH: `${LIBRARIES}:${LIBRARIES}.libs` },
    port,
    password,
    folder,
    log: join(folder, 'log/seekdb.log'),
    // The server accepts connections long before it answers on them.
    async answers() {
      try {
        if (!sealed) await statement(port, `ALTER USER root IDENTIFIED BY '${password}'`)
        sealed = true
        await statement(port, 'SELECT 1', password)
        return true
      } catch {
        return false
      }
    },
  })
}
