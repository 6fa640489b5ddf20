/**
 * The module `node:http`. A normal import would read all of its exports, and some of these load Node's whole fetch
 * client when they are read, which takes a tenth of the time of a start. `getBuiltinModule` reads none.
 */
export const http = process.getBuiltinModule('node:http')
