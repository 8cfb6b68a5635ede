// Node's HTTP server, on the listening socket that is standard input.
//
//     node serve_node.js < SOCKET
//
// Prints its version, then each request that it has read to its end, as a line of JSON, and answers with the same line.
// Bytes are written as the characters U+0000 to U+00FF.

'use strict';

const fs = require('node:fs');
const http = require('node:http');

function say(line) {
    fs.writeSync(1, line + '\n');
}

const server = http.createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
        const fields = [];
        for (let at = 0; at < request.rawHeaders.length; at += 2) {
            fields.push([request.rawHeaders[at], request.rawHeaders[at + 1]]);
        }
        const line = JSON.stringify({
            method: request.method,
            target: request.url,
            fields,
            body: Buffer.concat(pieces).toString('latin1'),
            connection: String(request.socket.remotePort),
        });
        say(line);
        response.setHeader('Content-Length', Buffer.byteLength(line));
        response.end(line);
    });
});
server.keepAliveTimeout = 60000;
say('version node ' + process.versions.node);
server.listen({ fd: 0 });
