/** Gives a private server of MariaDB the memory and the log that a deployment would have; those of tests are small. */
import type { MysqlServer } from '../../test/support/mysql-server.ts'

const SETTINGS = { innodb_buffer_pool_size: 2 ** 31, innodb_log_file_size: 2 ** 30 }

export async function likeADeployment(server: MysqlServer): Promise<void> {
  for (const [name, value] of Object.entries(SETTINGS)) await server.admin(`SET GLOBAL ${name} = ${value}`)
}
