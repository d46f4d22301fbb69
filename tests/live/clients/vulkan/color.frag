#version 450
layout(push_constant) uniform Push { vec4 color; };
layout(location = 0) out vec4 to;
void main() {
    to = color;
}
