/**
 * Stands in for replication: copies the content of one database server to another, which then is a replica that has
 * caught up.
 */
import mysql from 'mysql2/promise'
import type { MysqlServer } from './mysql-server.ts'

/** Copies what the one server has to the other. */
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
