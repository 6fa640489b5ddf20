/** A replica that has caught up, as far as a test needs one. */
import mysql from 'mysql2/promise'
import type { MysqlServer } from './mysql-server.ts'

/** The other server gets what this one has, as replication would have brought it. */
export async function copyDatabase(from: MysqlServer, to: MysqlServer): Promise<void> {
  const [source, target] = await Promise.all([from, to].map(server => mysql.createConnection(server.url)))
  for (const { table } of (
    await source!.query("SELECT table_name AS 'table' FROM information_schema.tables WHERE table_schema = 'gateway'")
  )[0] as { table: string }[]) {
    const [[{ 'Create Table': create }]] = (await source!.query(`SHOW CREATE TABLE ${table}`)) as unknown as [
      [{ 'Create Table': string }],
    ]
    await target!.query(`DROP TABLE IF EXISTS ${table}`)
    await target!.query(create)
    const rows = (await source!.query({ sql: `SELECT * FROM ${table}`, rowsAsArray: true }))[0] as unknown[]
    if (rows.length > 0) await target!.query(`INSERT INTO ${table} VALUES ?`, [rows])
  }
  await Promise.all([source!.end(), target!.end()])
}
